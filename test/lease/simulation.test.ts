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
import { movesOf, tooMuchHeld } from "./explore.ts";
import type { Monitor } from "./monitor.ts";
import { watchEachWindow, watchRate, watchWindow } from "./monitor.ts";
import type { Setting } from "./small-world.ts";
import { beginWorld, findMiscount, TICK, tick, unitsOutstanding } from "./small-world.ts";

const HISTORIES = 6 * SCALE;
const LENGTH = 2_000;

/** Milliseconds. */
const ticks = (n: number): number => (n * TICK) / 1_000;

type Draw = (random: Random, limit: number, window: number) => readonly [Limit, Monitor];

const KINDS: Readonly<Record<string, Draw>> = {
  gcra(random, limit, window) {
    const burst = random.whole(10, 300);
    const every = ticks(window);
    return [gcra({ limit, window: every, burst }), watchRate(burst, limit, window)];
  },
  tokenBucket(random, refill, window) {
    const capacity = random.whole(10, 300);
    const every = ticks(window);
    return [tokenBucket({ capacity, refill, every }), watchRate(capacity, refill, window)];
  },
  fixedWindow: (_, limit, window) => [
    fixedWindow({ limit, window: ticks(window) }),
    watchEachWindow(limit),
  ],
  "fixedWindow by the clock": (_, limit, window) => [
    fixedWindow({ limit, window: ticks(window), align: "clock" }),
    watchEachWindow(limit),
  ],
  slidingWindow: (_, limit, window) => [
    slidingWindow({ limit, window: ticks(window) }),
    watchWindow(2 * limit, window),
  ],
  "slidingWindow in buckets": (random, limit, window) => [
    slidingWindow({ limit, window: ticks(window), buckets: random.whole(2, 10) }),
    watchWindow(limit, window),
  ],
  slidingLog: (_, limit, window) => [
    slidingLog({ limit, window: ticks(window) }),
    watchWindow(limit, window),
  ],
};

/** Mostly what goes well, so that there is something to lose. */
function usual<M extends readonly [name: string, ...unknown[]]>(moves: M[], random: Random): M[] {
  if (random.chance(0.05)) return moves;
  return moves.filter(([name]) => !/forgets|ends|gives up|lost/.test(name));
}

test.each(Object.entries(KINDS))(
  "a dozen processes, at random: nobody gets more than %s guarantees, and what was held",
  async (_, draw) => {
    let spent = 0;
    await runHistories(HISTORIES, async (random) => {
      const window = random.whole(3, 60);
      const [limit, monitor] = draw(random, random.whole(20, 300), window);
      const counted = compileLimiterPolicy("api", limit, requireStore(memoryStore()));
      const [counter] = countersOf(counted, "ann") as [SubjectCounter];
      const hasWindows = limit.algorithm === "fixedWindow";
      const rule = {
        max: random.whole(2, 100),
        ttl: random.whole(1, 30) * TICK,
        divisor: random.pick([1, 2, 8]),
      };
      const setting: Setting = { counted, counter, rule, monitor, hasWindows, refunds: hasWindows };
      const costs = random.chance(0.5) ? [1] : [1, random.whole(2, 5)];
      const bounds = { processes: 12, ticks: 0, crashes: 20, costs };
      const world = beginWorld(setting, bounds.processes, random.whole(0, window) * TICK);
      const pace = random.fraction() / 8;
      for (let step = 0; step < LENGTH; step += 1) {
        const before = unitsOutstanding(world);
        monitor.see(world.watched, before);
        const [name, move] = random.chance(pace)
          ? (["time passes", tick(setting)] as const)
          : random.pick(usual(movesOf(world, setting, bounds, 0), random));
        move(world);
        const wrong = tooMuchHeld(world) ?? findMiscount(setting, world);
        claim(wrong === undefined, () => `${name}: ${wrong}, ${JSON.stringify({ limit, rule })}`);
        if (name.includes("asked") && unitsOutstanding(world) < before) spent += 1;
      }
    });
    // Histories in which hardly anything is leased say little.
    expect(spent).toBeGreaterThan(HISTORIES * 20);
  },
);
