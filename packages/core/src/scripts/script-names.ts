import type { LimitShape } from "../algorithms/algorithm.ts";
import type { CounterShape } from "./counter-shape.ts";
import { HEADER } from "./counter-shape.ts";

/** What stands in a script for the names in a part. */
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

/** What each counter has for itself in a call. */
const OF_COUNTER: readonly string[] = [
  "key",
  "bytes",
  "block",
  "isAhead",
  "elapsed",
  "value",
  ...HEADER.map(([name]) => name),
];

/** What a counter has for itself in a call, where the denials of one of its limits block: whether one blocked it, or was counted. */
const OF_BLOCKING_COUNTER: readonly string[] = [...OF_COUNTER, "isSet"];

/** What such a counter has for itself in a call. */
export function counterNames({ blocks }: CounterShape): readonly string[] {
  return blocks ? OF_BLOCKING_COUNTER : OF_COUNTER;
}

/** Lua has room for 200 local names: where there are more of ours than this, they are fields of tables. */
const MOST_LOCALS = 150;

/** What each limit has for itself where the cost is by name: of a run of calls, and of one. */
const UNITS_OF_LIMIT = ["cost", "given"];
const COUNTED_OF_LIMIT = "counted";

/** Whether names are fields: of `numbers`, what calls share which are alike; of `own`, what is of one call. */
export function areFields(shapes: readonly CounterShape[], isByName: boolean): boolean {
  const more = isByName ? [...UNITS_OF_LIMIT, COUNTED_OF_LIMIT] : [];
  const names = shapes.flatMap((shape) => [
    ...counterNames(shape),
    ...shape.limits.flatMap((limit) => [...ownNames(limit), ...broughtNames(limit), ...more]),
  ]);
  return names.length > MOST_LOCALS;
}

/** What a limit has for itself in a call. */
export function ownNames({ state, locals = [], reported = [] }: LimitShape): string[] {
  return [...state.map(([name]) => name), ...locals, ...reported];
}

/** What a call brings of a limit. */
function broughtNames({ numbers, times = [] }: LimitShape): string[] {
  return [...numbers, ...times];
}

/**
 * Gives counters and limits their names in a script: with a number behind them where there are several. Where the cost is by
 * name, that is a name of each limit too.
 */
export function nameCounters(
  shapes: readonly CounterShape[],
  isByName: boolean,
  nextKey: () => string,
): readonly NamedCounter[] {
  const [ofRun, ofCall] = areFields(shapes, isByName) ? ["numbers.", "own."] : ["", ""];
  const isOneLimit = shapes.flatMap(({ limits }) => limits).length === 1;
  let limitCount = 0;

  function nameLimit(shape: LimitShape, tailAt: number): NamedLimit {
    limitCount += 1;
    const suffix = isOneLimit ? "" : String(limitCount);
    const names = new Map(Object.entries(shape.constants));
    names.set("TAIL_AT", String(tailAt + 1));
    for (const name of ownNames(shape)) names.set(name, `${ofCall}${name}${suffix}`);
    for (const name of broughtNames(shape)) names.set(name, `${ofRun}${name}${suffix}`);
    for (const [name, same] of Object.entries(shape.aliases ?? {}))
      names.set(name, `${ofRun}${same}${suffix}`);
    if (shape.hasLog) names.set("LOG", nextKey());
    if (shape.blocks || shape.keeps) names.set("rules", `rules${suffix}`);
    // What a log reads of an entry is a local of its own, which the name of a field could not declare.
    if (shape.hasLog && ofCall !== "") names.set("bytes", "entryBytes");
    if (isByName) {
      for (const name of UNITS_OF_LIMIT) names.set(name, `${ofRun}${name}${suffix}`);
      names.set(COUNTED_OF_LIMIT, `${ofCall}${COUNTED_OF_LIMIT}${suffix}`);
    }
    // A request takes one place, unless its cost is by name.
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
    const limits = shape.limits.map((limit, i) => nameLimit(limit, shape.tailAt[i] as number));
    return { shape, names, limits };
  });
}
