import { createBreaker } from "@headgate/breaker";
import type { Store } from "@headgate/core";
import { memoryStore } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { describe, expect, test } from "vitest";
import { runHistories, SCALE } from "../conformance/random/histories.ts";
import type { Random } from "../conformance/random/random.ts";
import { MicroClock } from "../conformance/support/micro-clock.ts";
import { STORE_ALONE } from "../redis/store-alone.ts";
import { useOwnDatabases } from "../support/own-database.ts";
import { ModelFleet } from "./model-fleet.ts";
import { randomBreaker } from "./random-breaker.ts";
import { command } from "./random-commands.ts";

const LENGTH = 100;
const LANES = 64;

/** Microseconds. */
const START = 1_800_000_000_000_000n;

const { storeTimeout } = STORE_ALONE;

/** One for each process of a fleet: what shares a connection shares what it knows. */
const clients = useOwnDatabases(3);

const STATES = ["closed", "open", "half-open", "forced-open", "disabled", "metrics-only"];

describe("random commands", () => {
  test("a breaker in memory matches the model", async () => {
    const seen = new Map<string, number>();
    await runHistories(80 * SCALE, async (random, history) => {
      const time = new MicroClock(START);
      const store = memoryStore({ clock: time.clock });
      await follow(random, `memory-${history}`, [store], time, seen);
    });
    expectSeen(seen);
  });

  test("a breaker in memory matches the model when the clock steps back", async () => {
    const seen = new Map<string, number>();
    await runHistories(80 * SCALE, async (random, history) => {
      const time = new MicroClock(START);
      let behind = 0n;
      const store = memoryStore({ clock: () => new MicroClock(time.now - behind).clock() });
      await follow(random, `memory-steps-${history}`, [store], time, seen, {
        stepBack: (microseconds) => {
          if (time.now - behind > microseconds) behind += microseconds;
        },
      });
    });
    expectSeen(seen);
  });

  test("a fleet on Redis matches the model", async () => {
    const seen = new Map<string, number>();
    await runHistories(
      48 * SCALE,
      async (random, history) => {
        const time = new MicroClock(START);
        await follow(random, `fleet-${history}`, fleetOn(time), time, seen);
      },
      LANES,
    );
    expectSeen(seen);
  });

  test("a fleet on Redis whose processes have different options matches the model", async () => {
    const seen = new Map<string, number>();
    await runHistories(
      40 * SCALE,
      async (random, history) => {
        const time = new MicroClock(START);
        await follow(random, `deploy-${history}`, fleetOn(time), time, seen, { isDeploying: true });
      },
      LANES,
    );
    expectSeen(seen);
  });

  test("a fleet on Redis whose clock steps back matches the model", async () => {
    const seen = new Map<string, number>();
    await runHistories(
      40 * SCALE,
      async (random, history) => {
        const time = new MicroClock(START);
        await follow(random, `steps-${history}`, fleetOn(time), time, seen, {
          stepBack: (microseconds) => {
            time.now -= microseconds;
          },
        });
      },
      LANES,
    );
    expectSeen(seen);
  });
});

function fleetOn(time: MicroClock): Store[] {
  return clients.map((client) => redisStore(client, { clock: time.clock }));
}

interface Circumstances {
  readonly stepBack?: (microseconds: bigint) => void;
  /** Each process has options of its own. */
  readonly isDeploying?: boolean;
}

async function follow(
  random: Random,
  name: string,
  stores: readonly Store[],
  time: MicroClock,
  seen: Map<string, number>,
  { stepBack, isDeploying = false }: Circumstances = {},
): Promise<void> {
  const first = randomBreaker(random);
  const processes = stores.map((store) => {
    const { options, rules } = isDeploying ? randomBreaker(random) : first;
    const breaker = createBreaker({ ...options, name, store, storeTimeout, flushInterval: 0 });
    return { breaker, rules };
  });
  const fleet = new ModelFleet(processes, time);
  // Of a window that begins and another that is emptied in the same microsecond nobody can tell which came first.
  const pause = isDeploying ? 1n : 0n;
  const visits = await command(fleet, time, random, { count: LENGTH, pause, stepBack });
  for (const [state, times] of visits) seen.set(state, (seen.get(state) ?? 0) + times);
  await Promise.all(processes.map(({ breaker }) => breaker.close()));
}

/** A suite that hardly gets into a state says little of it. */
function expectSeen(seen: ReadonlyMap<string, number>): void {
  for (const state of STATES) expect(seen.get(state), state).toBeGreaterThan(40);
}
