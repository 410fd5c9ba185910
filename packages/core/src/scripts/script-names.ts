import type { LimitShape } from "../algorithms/algorithm.ts";
import type { CounterShape } from "./counter-shape.ts";
import { HEADER } from "./counter-shape.ts";
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

/** The names that each counter of a call has for itself; one that blocks also has `isSet`: whether a denial changed it. */
const OF_COUNTER: readonly string[] = [
  "key",
  "bytes",
  "block",
  "isAhead",
  "elapsed",
  "value",
  ...HEADER.map(([name]) => name),
];

function counterNames({ blocks }: CounterShape): readonly string[] {
  return blocks ? [...OF_COUNTER, "isSet"] : OF_COUNTER;
}

/** The names that a limit has for itself in a call. */
function ownNames({ state, locals = [], reported = [], notifies }: LimitShape): string[] {
  const told = notifies ? TOLD_OF_LIMIT : [];
  return [...state.map(([name]) => name), ...locals, ...reported, ...told];
}

/** Lua has room for 200 local names: if there are more of ours than this, they are fields of tables. */
const MOST_LOCALS = 150;

/** The names that each limit has for itself if the cost is by name: for a run of calls, and for one. */
const UNITS_OF_LIMIT = ["cost", "given"];
const COUNTED_OF_LIMIT = "counted";

/** The names that a limit that notifies has: see thresholds.lua. */
const TOLD_OF_LIMIT: readonly string[] = ["reached", "spent"];

/** Whether names are fields: of `numbers` those shared by a run of calls that are alike, of `own` those of one call. */
export function areFields(shapes: readonly CounterShape[], isByName: boolean): boolean {
  const more = isByName ? UNITS_OF_LIMIT.length + 1 : 0;
  const limits = shapes.flatMap((shape) => shape.limits);
  const counts = [
    ...shapes.map((shape) => counterNames(shape).length),
    ...limits.map((limit) => ownNames(limit).length + broughtNames(limit).length + more),
  ];
  return counts.reduce((sum, count) => sum + count, 0) > MOST_LOCALS;
}

/** The numbers that a call passes for a limit. */
function broughtNames({ numbers, times = [] }: LimitShape): string[] {
  return [...numbers, ...times];
}

/**
 * Gives counters and limits their names in a script: with a number as suffix if there are several. If the cost is by name, that
 * is a name of each limit too.
 */
export function nameCounters(
  shapes: readonly CounterShape[],
  isByName: boolean,
  nextKey: () => string,
): readonly NamedCounter[] {
  const [ofRun, ofCall] = areFields(shapes, isByName) ? ["numbers.", "own."] : ["", ""];
  const isOneLimit = shapes.flatMap(({ limits }) => limits).length === 1;
  let limitCount = 0;

  function nameLimit(shape: LimitShape, tailAt: number, place: number): NamedLimit {
    limitCount += 1;
    const suffix = isOneLimit ? "" : String(limitCount);
    const names = new Map(Object.entries(shape.constants));
    names.set("TAIL_AT", String(tailAt + 1));
    for (const name of ownNames(shape)) names.set(name, `${ofCall}${name}${suffix}`);
    for (const name of broughtNames(shape)) names.set(name, `${ofRun}${name}${suffix}`);
    for (const [name, same] of Object.entries(shape.aliases ?? {}))
      names.set(name, `${ofRun}${same}${suffix}`);
    if (shape.hasLog) names.set("LOG", nextKey());
    if (shape.notifies) names.set("MARK", nextKey());
    names.set("PLACE", String(place));
    names.set("GRANTED", nameIn(names, shape.numbers[0] as string));
    if (shape.blocks || shape.keeps) names.set("rules", `rules${suffix}`);
    if (shape.notifies) names.set("thresholds", `thresholds${suffix}`);
    // A log reads an entry into a local of its own, which the name of a field could not declare.
    if (shape.hasLog && ofCall !== "") names.set("bytes", "entryBytes");
    if (isByName) {
      for (const name of UNITS_OF_LIMIT) names.set(name, `${ofRun}${name}${suffix}`);
      names.set(COUNTED_OF_LIMIT, `${ofCall}${COUNTED_OF_LIMIT}${suffix}`);
    }
    // A request takes one slot, unless its cost is by name.
    names.set("PLACES", names.get("cost") ?? "1");
    return { shape, names };
  }

  return shapes.map((shape, c) => {
    const suffix = shapes.length === 1 ? "" : String(c + 1);
    const names = new Map(counterNames(shape).map((name) => [name, `${ofCall}${name}${suffix}`]));
    names.set("charged", `${ofRun}charged${suffix}`);
    names.set("KEY", nextKey());
    names.set("WIDTH", String(shape.width));
    names.set("LIMITS", String(shape.limits.length));
    const limits = shape.limits.map((limit, i) =>
      nameLimit(limit, shape.tailAt[i] as number, i + 1),
    );
    return { shape, names, limits };
  });
}

export function nameIn(names: Names, name: string): string {
  return names.get(name) as string;
}

/** A name in each limit; nothing if it is the same for all. */
export function namesInLimits(counters: readonly NamedCounter[], name: string): string[] {
  return counters.flatMap(({ limits }) => limits.flatMap(({ names }) => names.get(name) ?? []));
}

/** The answer of a charge about a counter that notifies: its value, and the report on each limit. */
export function namesReported({ shape, names, limits }: NamedCounter): readonly string[] {
  if (!shape.notifies) return [];
  const told = limits.flatMap((limit) =>
    TOLD_OF_LIMIT.flatMap((name) => limit.names.get(name) ?? []),
  );
  return [nameIn(names, "value"), ...told];
}

/** The names of all counters and limits for one call. */
export function namesOfCall(counters: readonly NamedCounter[]): string[] {
  return counters.flatMap((counter) => [
    ...counterNames(counter.shape).map((name) => nameIn(counter.names, name)),
    ...counter.limits.flatMap(({ shape, names }) =>
      ownNames(shape).map((name) => nameIn(names, name)),
    ),
  ]);
}

/** The numbers of a counter's value, and how many bytes each takes. */
export function valueFields(counter: NamedCounter): Field[] {
  const header = HEADER.map(([name, bytes]): Field => [nameIn(counter.names, name), bytes]);
  return [...header, ...stateFields(counter)];
}

export function stateFields({ limits }: NamedCounter): Field[] {
  return limits.flatMap(({ shape, names }) =>
    shape.state.map(([name, bytes]): Field => [nameIn(names, name), bytes]),
  );
}

/** The numbers of a limit's state, and those that it reports. */
export function numbersOf({ shape, names }: NamedLimit): string[] {
  const numbers = [...shape.state.map(([name]) => name), ...(shape.reported ?? [])];
  return numbers.map((name) => nameIn(names, name));
}
