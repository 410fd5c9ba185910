import type { LimitShape } from "../algorithms/algorithm.ts";
import type { CounterShape } from "./counter-shape.ts";
import { HEADER_FIELDS } from "./counter-shape.ts";
import type { Field } from "./lua-statements.ts";

/** The replacements in a script, names or numbers, for the names in a section. */
export type Names = ReadonlyMap<string, string>;

/** A limit in a script. */
export interface NamedLimit {
  readonly shape: LimitShape;
  readonly names: Names;
}

/** A counter in a script. */
export interface NamedCounter {
  readonly shape: CounterShape;
  readonly limits: readonly NamedLimit[];
  readonly names: Names;
}

/** The names of each counter of a call. A counter that blocks also has `isSet`: whether a denial changed it. */
const COUNTER_NAMES: readonly string[] = [
  "key",
  "bytes",
  "block",
  "isAhead",
  "elapsed",
  "value",
  ...HEADER_FIELDS.map(([name]) => name),
];

function counterNames({ blocksOnDenial }: CounterShape): readonly string[] {
  return blocksOnDenial ? [...COUNTER_NAMES, "isSet"] : COUNTER_NAMES;
}

function limitNames({ state, locals = [], reported = [], notifies }: LimitShape): string[] {
  const reportNames = notifies ? REPORT_NAMES : [];
  return [...state.map(([name]) => name), ...locals, ...reported, ...reportNames];
}

/** Lua allows 200 local names. If a script has more names than this, they are fields of tables. */
const MAX_LOCALS = 150;

/** The names of each limit if the cost is by name: for a run of calls, and for one call. */
const COST_NAMES = ["cost", "chargedUnits"];
const COUNTED_NAME = "counted";

/** The names of a limit that notifies: see thresholds.lua. */
const REPORT_NAMES: readonly string[] = ["reached", "spent"];

/** Whether names are fields of tables: of `numbers` for a run of equal calls, and of `own` for one call. */
export function needsTables(shapes: readonly CounterShape[], isByName: boolean): boolean {
  const more = isByName ? COST_NAMES.length + 1 : 0;
  const limits = shapes.flatMap((shape) => shape.limits);
  const counts = [
    ...shapes.map((shape) => counterNames(shape).length),
    ...limits.map((limit) => limitNames(limit).length + argumentNames(limit).length + more),
  ];
  return counts.reduce((sum, count) => sum + count, 0) > MAX_LOCALS;
}

/** The names of the numbers that a call passes for a limit. */
function argumentNames({ parameters, boundaries = [] }: LimitShape): string[] {
  return [...parameters, ...boundaries];
}

/**
 * Gives counters and limits their names in a script, with a number as suffix if there are several. If the cost is by name,
 * each limit also has names for its cost.
 */
export function nameCounters(
  shapes: readonly CounterShape[],
  isByName: boolean,
  nextKey: () => string,
): readonly NamedCounter[] {
  const [runPrefix, callPrefix] = needsTables(shapes, isByName) ? ["numbers.", "own."] : ["", ""];
  const isOneLimit = shapes.flatMap(({ limits }) => limits).length === 1;
  let limitCount = 0;

  function nameLimit(shape: LimitShape, tailAt: number, position: number): NamedLimit {
    limitCount += 1;
    const suffix = isOneLimit ? "" : String(limitCount);
    const names = new Map(Object.entries(shape.constants));
    names.set("TAIL_AT", String(tailAt + 1));
    for (const name of limitNames(shape)) names.set(name, `${callPrefix}${name}${suffix}`);
    for (const name of argumentNames(shape)) names.set(name, `${runPrefix}${name}${suffix}`);
    for (const [name, same] of Object.entries(shape.aliases ?? {}))
      names.set(name, `${runPrefix}${same}${suffix}`);
    if (shape.hasLog) names.set("LOG", nextKey());
    if (shape.notifies) names.set("MARK", nextKey());
    names.set("POSITION", String(position));
    names.set("GRANTED", getName(names, shape.parameters[0] as string));
    if (shape.blocksOnDenial || shape.blocksOnSettle) names.set("rules", `rules${suffix}`);
    if (shape.notifies) names.set("thresholds", `thresholds${suffix}`);
    // A log reads an entry into a local variable, whose name cannot be that of a field.
    if (shape.hasLog && callPrefix !== "") names.set("bytes", "entryBytes");
    if (isByName) {
      for (const name of COST_NAMES) names.set(name, `${runPrefix}${name}${suffix}`);
      names.set(COUNTED_NAME, `${callPrefix}${COUNTED_NAME}${suffix}`);
    }
    // A request takes one slot, unless its cost is by name.
    names.set("SLOTS", names.get("cost") ?? "1");
    return { shape, names };
  }

  return shapes.map((shape, c) => {
    const suffix = shapes.length === 1 ? "" : String(c + 1);
    const names = new Map(
      counterNames(shape).map((name) => [name, `${callPrefix}${name}${suffix}`]),
    );
    names.set("chargedGeneration", `${runPrefix}chargedGeneration${suffix}`);
    names.set("KEY", nextKey());
    names.set("WIDTH", String(shape.width));
    names.set("LIMITS", String(shape.limits.length));
    const limits = shape.limits.map((limit, i) =>
      nameLimit(limit, shape.tailOffsets[i] as number, i + 1),
    );
    return { shape, names, limits };
  });
}

export function getName(names: Names, name: string): string {
  return names.get(name) as string;
}

/** The replacements of a name in each limit; empty if limits have none of their own. */
export function namesInLimits(counters: readonly NamedCounter[], name: string): string[] {
  return counters.flatMap(({ limits }) => limits.flatMap(({ names }) => names.get(name) ?? []));
}

/** The names in the answer of a charge for a counter that notifies: its value, and the reached thresholds of each limit. */
export function reportedNames({ shape, names, limits }: NamedCounter): readonly string[] {
  if (!shape.notifies) return [];
  const reportNames = limits.flatMap((limit) =>
    REPORT_NAMES.flatMap((name) => limit.names.get(name) ?? []),
  );
  return [getName(names, "value"), ...reportNames];
}

/** The names of all counters and limits for one call. */
export function callNames(counters: readonly NamedCounter[]): string[] {
  return counters.flatMap((counter) => [
    ...counterNames(counter.shape).map((name) => getName(counter.names, name)),
    ...counter.limits.flatMap(({ shape, names }) =>
      limitNames(shape).map((name) => getName(names, name)),
    ),
  ]);
}

/** The numbers of a counter's value, and the bytes of each. */
export function valueFields(counter: NamedCounter): Field[] {
  const header = HEADER_FIELDS.map(([name, bytes]): Field => [getName(counter.names, name), bytes]);
  return [...header, ...stateFields(counter)];
}

export function stateFields({ limits }: NamedCounter): Field[] {
  return limits.flatMap(({ shape, names }) =>
    shape.state.map(([name, bytes]): Field => [getName(names, name), bytes]),
  );
}

/** The names of a limit's state numbers and reported numbers. */
export function limitNumbers({ shape, names }: NamedLimit): string[] {
  const numbers = [...shape.state.map(([name]) => name), ...(shape.reported ?? [])];
  return numbers.map((name) => getName(names, name));
}
