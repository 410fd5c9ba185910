import type { Limit } from "@headgate/core";
import { definitionOf, microsecondsOf } from "../oracle/definition.ts";
import { randomCalendar } from "./calendar.ts";
import type { Random } from "./random.ts";

/** Each behaviour that has its own definition. */
export const KINDS = [
  "gcra",
  "tokenBucket",
  "fixedWindow",
  "fixedWindow by the clock",
  "fixedWindow by the calendar",
  "slidingWindow",
  "slidingWindow in buckets",
  "slidingLog",
] as const;

export type Kind = (typeof KINDS)[number];

/** For clocks that step back: calendar windows end by the clock alone, which calendar-clock.test.ts tests. */
export const KINDS_WITHOUT_CALENDAR = KINDS.filter(
  (kind) => kind !== "fixedWindow by the calendar",
);

const DAY_MS = 86_400_000;
const MAX_LIMIT = 1_000_000_000;
const MAX_LOG = 1_000_000;
const MAX_SLOTS = 10_000;
/** Common windows, and some that divide nothing. */
const WINDOWS_MS = [1, 2, 7, 997, 1_000, 60_000, 3_600_000, DAY_MS, 1_000_003, 2_147_483_647];
/** Limits that divide no window, and the ends of the range. */
const LIMITS = [1, 2, 3, 7, 97, 7_919, 104_729, 300_000, 15_485_863, 999_999_937, MAX_LIMIT];

/** How large the quotas of a history may be: small ones are denied often, wide ones try the arithmetic. */
export type Size = "small" | "wide";

/** A limit of one kind, anywhere between 1 per 366 days and 1,000,000 per second. */
export function randomLimit(
  random: Random,
  kind: Kind,
  size: Size,
  common: { readonly name?: string; readonly per?: string } = {},
): Limit {
  const ms = randomWindow(random);
  const window = random.chance(0.2) ? (`${ms}ms` as const) : ms;
  const most = size === "small" ? 20 : kind === "slidingLog" ? MAX_LOG : MAX_LIMIT;
  const limit = randomQuota(random, ms, most);
  switch (kind) {
    case "gcra": {
      const burst = random.chance(0.5) ? undefined : randomUnits(random, most);
      return { algorithm: "gcra", limit, window, ...(burst && { burst }), ...common };
    }
    case "tokenBucket":
      return {
        algorithm: "tokenBucket",
        capacity: randomUnits(random, most),
        refill: limit,
        every: window,
        ...common,
      };
    case "fixedWindow":
      return { algorithm: "fixedWindow", limit, window, ...common };
    case "fixedWindow by the clock":
      return { algorithm: "fixedWindow", limit, window, align: "clock", ...common };
    case "fixedWindow by the calendar":
      return { algorithm: "fixedWindow", limit, ...randomCalendar(random), ...common };
    case "slidingWindow":
      return { algorithm: "slidingWindow", limit, window, ...common };
    case "slidingWindow in buckets":
      return { algorithm: "slidingWindow", limit, window, buckets: random.whole(2, 60), ...common };
    case "slidingLog":
      return { algorithm: "slidingLog", limit, window, ...common };
  }
}

/** The same limit with other numbers of units: far more, far fewer, one more or fewer, or none. */
export function withOtherValues(random: Random, limit: Limit): Limit {
  const most = limit.algorithm === "slidingLog" ? MAX_LOG : MAX_LIMIT;
  const other = (units: number, bound: number): number =>
    Math.min(
      bound,
      Math.max(1, random.pick([...valuesNear(random, units), randomUnits(random, bound)])),
    );
  const orNone = (units: number, bound: number): number =>
    random.chance(0.05) ? 0 : other(units, bound);
  if (limit.algorithm === "tokenBucket") {
    return {
      ...limit,
      capacity: orNone(limit.capacity, most),
      refill: other(limit.refill, maxUnitsIn(limit.every, most)),
    };
  }
  if (limit.algorithm === "concurrency") return { ...limit, limit: orNone(limit.limit, MAX_SLOTS) };
  const changed = { ...limit, limit: orNone(limit.limit, maxUnitsIn(limit.window, most)) };
  if (changed.algorithm !== "gcra") return changed;
  const { burst = Math.max(1, changed.limit), ...withoutBurst } = changed;
  return random.chance(0.5) ? withoutBurst : { ...withoutBurst, burst: other(burst, most) };
}

/**
 * The same limit with another capacity. Buckets drain as fast as before, so that it does not matter under which of the limits
 * time passed.
 */
export function withOtherCapacity(random: Random, limit: Limit): Limit {
  const other = withOtherValues(random, limit);
  if (limit.algorithm === "tokenBucket") return { ...other, refill: limit.refill } as Limit;
  if (limit.algorithm !== "gcra") return other;
  return { ...limit, burst: Math.max(1, Number(definitionOf(other).capacity)) };
}

/** Combines limits of one shape into the limit with the largest of each number. */
export function largestOf(limits: readonly [Limit, ...Limit[]]): Limit {
  const [first] = limits;
  const capacity = Math.max(...limits.map((limit) => Number(definitionOf(limit).capacity)));
  const rate = Math.max(
    ...limits.map((limit) => (limit.algorithm === "tokenBucket" ? limit.refill : limit.limit)),
  );
  switch (first.algorithm) {
    case "tokenBucket":
      return { ...first, capacity, refill: rate };
    case "gcra":
      return { ...first, limit: rate, burst: capacity };
    default:
      return { ...first, limit: rate };
  }
}

function valuesNear(random: Random, units: number): number[] {
  const factor = random.magnitude(2, 100);
  return [units, units - 1, units + 1, units * factor, Math.ceil(units / factor)];
}

/** The most units in a window. */
function maxUnitsIn(window: number | string, most: number): number {
  return Math.min(most, Number(microsecondsOf(window)));
}

/** The same limits, of which most block for a time near their window. */
export function withRandomBlocks(random: Random, limits: readonly Limit[]): Limit[] {
  return limits.map((limit) => (random.chance(0.8) ? withRandomBlock(random, limit) : limit));
}

function withRandomBlock(random: Random, limit: Limit): Limit {
  if (limit.algorithm === "concurrency") return limit;
  const window = Number(
    microsecondsOf(limit.algorithm === "tokenBucket" ? limit.every : limit.window),
  );
  const span = (): number => random.magnitude(1, Math.min(366 * DAY_MS, window / 100));
  const spans = Array.from({ length: random.pick([1, 1, 2, 3, 16]) }, span);
  const lengths = spans.length === 1 ? (spans[0] as number) : spans;
  if (random.chance(0.6)) return { ...limit, block: lengths };
  return { ...limit, block: { after: random.pick([1, 2, 3, 4, 10]), for: lengths } };
}

/** Several limits, each with a name of its own, counted by up to `dimensions` dimensions. */
export function randomPolicy(
  random: Random,
  count: number,
  dimensions = 1,
  kinds: readonly Kind[] = KINDS,
): Limit[] {
  return Array.from({ length: count }, (_, i) =>
    randomLimit(random, random.pick(kinds), random.chance(0.6) ? "small" : "wide", {
      name: `limit ${i}`,
      per: random.pick(["default", "tenant", "route"].slice(0, dimensions)),
    }),
  );
}

function randomWindow(random: Random): number {
  if (random.chance(0.1)) return 366 * DAY_MS;
  return random.chance(0.5) ? random.pick(WINDOWS_MS) : random.magnitude(1, 366 * DAY_MS);
}

/** A quota of at most `most` units, and at most one unit a microsecond. */
function randomQuota(random: Random, windowMs: number, most: number): number {
  const ceiling = Math.min(most, windowMs * 1_000);
  if (most > 20 && random.chance(0.25)) {
    // Near the quota at which limit × window exceeds the integers of a double.
    const crossing = Math.round(2 ** 53 / (windowMs * 1_000)) + random.whole(-2, 2);
    if (crossing >= 1 && crossing <= ceiling) return crossing;
  }
  return Math.min(ceiling, randomUnits(random, ceiling));
}

function randomUnits(random: Random, most: number): number {
  const awkward = LIMITS.filter((limit) => limit <= most);
  return random.chance(0.4) ? random.pick(awkward) : random.magnitude(1, most);
}
