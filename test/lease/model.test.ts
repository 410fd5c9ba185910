import type { Limit } from "@headgate/core";
import {
  fixedWindow,
  gcra,
  memoryStore,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from "@headgate/core";
import { requireStore } from "@headgate/core/internal";
import { describe, expect, test } from "vitest";
import { compileLimiterPolicy } from "../../packages/core/src/policy/compiled-policy.ts";
import type { SubjectCounter } from "../../packages/core/src/policy/counters.ts";
import { countersOf } from "../../packages/core/src/policy/counters.ts";
import { SCALE } from "../conformance/random/histories.ts";
import type { Bounds } from "./explore.ts";
import { explore } from "./explore.ts";
import type { Monitor } from "./monitor.ts";
import { watchEachWindow, watchRate, watchWindow } from "./monitor.ts";
import type { Setting } from "./small-world.ts";
import { TICK } from "./small-world.ts";

/** Milliseconds. */
const ticks = (n: number): number => (n * TICK) / 1_000;

/** A limit, and who watches that it keeps what `docs/understand/guarantees.md` says. */
const LIMITS: readonly (readonly [name: string, limit: Limit, monitor: Monitor])[] = [
  ["gcra", gcra({ limit: 3, window: ticks(3) }), watchRate(3, 1, 1)],
  ["tokenBucket", tokenBucket({ capacity: 3, refill: 1, every: ticks(2) }), watchRate(3, 1, 2)],
  ["fixedWindow", fixedWindow({ limit: 3, window: ticks(2) }), watchEachWindow(3)],
  [
    "fixedWindow by the clock",
    fixedWindow({ limit: 3, window: ticks(2), align: "clock" }),
    watchEachWindow(3),
  ],
  ["slidingWindow", slidingWindow({ limit: 3, window: ticks(2) }), watchWindow(6, 2)],
  [
    "slidingWindow in buckets",
    slidingWindow({ limit: 3, window: ticks(4), buckets: 2 }),
    watchWindow(3, 4),
  ],
  ["slidingLog", slidingLog({ limit: 3, window: ticks(2) }), watchWindow(3, 2)],
];

/** The largest take half a minute when nobody else works. */
const TIMEOUT_MS = 240_000 * SCALE;

interface Size extends Bounds {
  readonly max: number;
  /** In ticks. */
  readonly ttl: number;
  /** So many worlds at least: fewer mean that something does not happen any more. */
  readonly worlds: number;
}

/** For each limit. */
const SIZES: readonly Size[] = [
  { max: 2, ttl: 2, processes: 2, ticks: 2, crashes: 0, costs: [1], worlds: 10_000 },
  { max: 2, ttl: 1, processes: 2, ticks: 1, crashes: 1, costs: [1, 2], worlds: 2_000 },
];

/** A third process is the same to each limit: in the normal run for one that drips, in the long run for all. */
const MORE: readonly Size[] = [
  { max: 2, ttl: 1, processes: 3, ticks: 1, crashes: 0, costs: [1], worlds: 10_000 },
];

const LONG: readonly Size[] = [
  ...SIZES,
  ...MORE,
  { max: 3, ttl: 1, processes: 2, ticks: 1, crashes: 1, costs: [1, 2], worlds: 10_000 },
  { max: 2, ttl: 2, processes: 2, ticks: 3, crashes: 1, costs: [1], worlds: 50_000 },
  { max: 3, ttl: 2, processes: 2, ticks: 2, crashes: 1, costs: [1, 2], worlds: 10_000 },
  { max: 2, ttl: 1, processes: 3, ticks: 1, crashes: 1, costs: [1], worlds: 10_000 },
];

/**
 * Windows by the clock have ten times the worlds, as it matters when each thing happens. Of those that are alike, the normal run takes
 * the larger size for one: tokenBucket stands for gcra, windows by the clock for fixedWindow, slidingWindow for slidingLog.
 */
function sizesFor(name: string): readonly Size[] {
  const isByClock = name === "fixedWindow by the clock";
  if (SCALE > 1) return isByClock ? [...SIZES, ...MORE] : LONG;
  if (isByClock) return SIZES.slice(0, 1);
  if (name === "tokenBucket") return [...SIZES, ...MORE];
  return name.startsWith("slidingWindow") ? SIZES : SIZES.slice(1);
}

describe.each(LIMITS)("all that can happen with leases of %s", (name, limit, monitor) => {
  const hasWindows = limit.algorithm === "fixedWindow";
  const counted = compileLimiterPolicy("api", limit, requireStore(memoryStore()));
  const [counter] = countersOf(counted, "ann") as [SubjectCounter];

  test.each(sizesFor(name))(
    "$processes processes, leases of $max for $ttl ticks, $ticks ticks",
    ({ max, ttl, worlds, ...bounds }) => {
      const rule = { max, ttl: ttl * TICK, divisor: 1 };
      const setting: Setting = { counted, counter, rule, monitor, hasWindows };
      expect(explore(setting, bounds)).toBeGreaterThan(worlds);
    },
    TIMEOUT_MS,
  );
});
