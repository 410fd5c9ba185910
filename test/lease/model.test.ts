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
import type { GuaranteeMonitor } from "./guarantee-monitor.ts";
import { monitorEachWindow, monitorRate, monitorWindow } from "./guarantee-monitor.ts";
import type { ModelSetup } from "./lease-model.ts";
import { TICK } from "./lease-model.ts";

/** Milliseconds. */
const ticks = (n: number): number => (n * TICK) / 1_000;

/** Each limit with the monitor of its guarantee in `docs/understand/guarantees.md`. */
const LIMITS: readonly (readonly [name: string, limit: Limit, monitor: GuaranteeMonitor])[] = [
  ["gcra", gcra({ limit: 3, window: ticks(3) }), monitorRate(3, 1, 1)],
  ["tokenBucket", tokenBucket({ capacity: 3, refill: 1, every: ticks(2) }), monitorRate(3, 1, 2)],
  ["fixedWindow", fixedWindow({ limit: 3, window: ticks(2) }), monitorEachWindow(3)],
  [
    "fixedWindow by the clock",
    fixedWindow({ limit: 3, window: ticks(2), align: "clock" }),
    monitorEachWindow(3),
  ],
  ["slidingWindow", slidingWindow({ limit: 3, window: ticks(2) }), monitorWindow(6, 2)],
  [
    "slidingWindow in buckets",
    slidingWindow({ limit: 3, window: ticks(4), buckets: 2 }),
    monitorWindow(3, 4),
  ],
  ["slidingLog", slidingLog({ limit: 3, window: ticks(2) }), monitorWindow(3, 2)],
];

/** The largest explorations take half a minute on an idle machine. */
const TIMEOUT_MS = 240_000 * SCALE;

interface Size extends Bounds {
  readonly max: number;
  /** In ticks. */
  readonly ttl: number;
  /** The minimum number of models: fewer mean that some transition no longer happens. */
  readonly models: number;
}

/** Explored for each limit. */
const CRASH: Size = {
  max: 2,
  ttl: 1,
  processes: 2,
  ticks: 1,
  crashes: 1,
  costs: [1, 2],
  models: 2_000,
};

/** Leases that outlive the window, if it ends by the clock. */
const WINDOW_END: Size = {
  max: 2,
  ttl: 2,
  processes: 2,
  ticks: 1,
  crashes: 0,
  costs: [1],
  models: 10_000,
};

const TWO_TICKS: Size = {
  max: 2,
  ttl: 2,
  processes: 2,
  ticks: 2,
  crashes: 0,
  costs: [1],
  models: 10_000,
};

const THREE_PROCESSES: Size = {
  max: 2,
  ttl: 1,
  processes: 3,
  ticks: 1,
  crashes: 0,
  costs: [1],
  models: 10_000,
};

const LONG: readonly Size[] = [
  TWO_TICKS,
  CRASH,
  THREE_PROCESSES,
  { max: 3, ttl: 1, processes: 2, ticks: 1, crashes: 1, costs: [1, 2], models: 10_000 },
  { max: 2, ttl: 2, processes: 2, ticks: 3, crashes: 1, costs: [1], models: 50_000 },
  { max: 3, ttl: 2, processes: 2, ticks: 2, crashes: 1, costs: [1, 2], models: 10_000 },
  { max: 2, ttl: 1, processes: 3, ticks: 1, crashes: 1, costs: [1], models: 10_000 },
];

/**
 * Windows by the clock have ten times as many models, because the time of each transition matters. The normal run explores two ticks
 * for the sliding window in buckets only; more processes take part in `simulation.test.ts`.
 */
function sizesFor(name: string): readonly Size[] {
  const isByClock = name === "fixedWindow by the clock";
  if (SCALE > 1) return isByClock ? [TWO_TICKS, CRASH, THREE_PROCESSES] : LONG;
  if (isByClock) return [WINDOW_END];
  return name === "slidingWindow in buckets" ? [TWO_TICKS, CRASH] : [CRASH];
}

describe.each(LIMITS)("every interleaving of leases with %s", (name, limit, monitor) => {
  const hasWindows = limit.algorithm === "fixedWindow";
  const policy = compileLimiterPolicy("api", limit, requireStore(memoryStore()));
  const [counter] = countersOf(policy, "ann") as [SubjectCounter];

  test.each(sizesFor(name))(
    "$processes processes with leases of $max units for $ttl ticks keep the guarantee in every interleaving of $ticks ticks",
    ({ max, ttl, models, ...bounds }) => {
      const settings = { max, ttl: ttl * TICK, divisor: 1 };
      const setup: ModelSetup = { policy, counter, settings, monitor, hasWindows };
      expect(explore(setup, bounds)).toBeGreaterThan(models);
    },
    TIMEOUT_MS,
  );
});
