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
import { expect, test } from "vitest";
import { compileLimiterPolicy } from "../../packages/core/src/policy/compiled-policy.ts";
import type { SubjectCounter } from "../../packages/core/src/policy/counters.ts";
import { countersOf } from "../../packages/core/src/policy/counters.ts";
import { runHistories, SCALE } from "../conformance/random/histories.ts";
import type { Random } from "../conformance/random/random.ts";
import { claim } from "../conformance/support/claim.ts";
import { findExcessUnits, transitionsOf } from "./explore.ts";
import type { GuaranteeMonitor } from "./guarantee-monitor.ts";
import { monitorEachWindow, monitorRate, monitorWindow } from "./guarantee-monitor.ts";
import type { ModelSetup } from "./lease-model.ts";
import { createModel, findAccountingError, outstandingUnits, TICK, tick } from "./lease-model.ts";

const HISTORIES = 6 * SCALE;
const LENGTH = 2_000;

/** Milliseconds. */
const ticks = (n: number): number => (n * TICK) / 1_000;

type Draw = (random: Random, limit: number, window: number) => readonly [Limit, GuaranteeMonitor];

const KINDS: Readonly<Record<string, Draw>> = {
  gcra(random, limit, window) {
    const burst = random.whole(10, 300);
    const every = ticks(window);
    return [gcra({ limit, window: every, burst }), monitorRate(burst, limit, window)];
  },
  tokenBucket(random, refill, window) {
    const capacity = random.whole(10, 300);
    const every = ticks(window);
    return [tokenBucket({ capacity, refill, every }), monitorRate(capacity, refill, window)];
  },
  fixedWindow: (_, limit, window) => [
    fixedWindow({ limit, window: ticks(window) }),
    monitorEachWindow(limit),
  ],
  "fixedWindow by the clock": (_, limit, window) => [
    fixedWindow({ limit, window: ticks(window), align: "clock" }),
    monitorEachWindow(limit),
  ],
  slidingWindow: (_, limit, window) => [
    slidingWindow({ limit, window: ticks(window) }),
    monitorWindow(2 * limit, window),
  ],
  "slidingWindow in buckets": (random, limit, window) => [
    slidingWindow({ limit, window: ticks(window), buckets: random.whole(2, 10) }),
    monitorWindow(limit, window),
  ],
  slidingLog: (_, limit, window) => [
    slidingLog({ limit, window: ticks(window) }),
    monitorWindow(limit, window),
  ],
};

/** Mostly transitions without failures, so that units are leased and spent. */
function usual<M extends readonly [name: string, ...unknown[]]>(
  transitions: M[],
  random: Random,
): M[] {
  if (random.chance(0.05)) return transitions;
  return transitions.filter(([name]) => !/evicts|crashes|times out|lost/.test(name));
}

test.each(Object.entries(KINDS))(
  "twelve processes with random leases never admit more than %s guarantees plus the units held in leases",
  async (_, draw) => {
    let spent = 0;
    await runHistories(HISTORIES, async (random) => {
      const window = random.whole(3, 60);
      const [limit, monitor] = draw(random, random.whole(20, 300), window);
      const policy = compileLimiterPolicy("api", limit, requireStore(memoryStore()));
      const [counter] = countersOf(policy, "ann") as [SubjectCounter];
      const hasWindows = limit.algorithm === "fixedWindow";
      const settings = {
        max: random.whole(2, 100),
        ttl: random.whole(1, 30) * TICK,
        divisor: random.pick([1, 2, 8]),
      };
      const setup: ModelSetup = {
        policy,
        counter,
        settings,
        monitor,
        hasWindows,
        refunds: hasWindows,
      };
      const costs = random.chance(0.5) ? [1] : [1, random.whole(2, 5)];
      const bounds = { processes: 12, ticks: 0, crashes: 20, costs };
      const model = createModel(setup, bounds.processes, random.whole(0, window) * TICK);
      const pace = random.fraction() / 8;
      for (let step = 0; step < LENGTH; step += 1) {
        const before = outstandingUnits(model);
        monitor.see(model.monitorState, before);
        const [name, transition] = random.chance(pace)
          ? (["time passes", tick(setup)] as const)
          : random.pick(usual(transitionsOf(model, setup, bounds, 0), random));
        transition(model);
        const wrong = findExcessUnits(model) ?? findAccountingError(setup, model);
        claim(
          wrong === undefined,
          () => `${name}: ${wrong}, ${JSON.stringify({ limit, settings })}`,
        );
        if (name.includes("receives a request") && outstandingUnits(model) < before) spent += 1;
      }
    });
    // Histories with hardly any leases prove little.
    expect(spent).toBeGreaterThan(HISTORIES * 20);
  },
);
