import { fixedWindow } from "@headgate/core";
import { requireStore } from "@headgate/core/internal";
import { redisStore } from "@headgate/core/redis";
import { expect, test } from "vitest";
import type { Boundaries, Calendar } from "../../../packages/core/src/algorithms/calendar.ts";
import { compileCalendarWindow } from "../../../packages/core/src/algorithms/fixed-window.ts";
import type { Counter } from "../../../packages/core/src/operations/counter.ts";
import { prepareLimits } from "../../../packages/core/src/operations/counter.ts";
import { decide } from "../../../packages/core/src/operations/decide.ts";
import type { Receipt } from "../../../packages/core/src/operations/refund.ts";
import { refund } from "../../../packages/core/src/operations/refund.ts";
import { useOwnDatabase } from "../../support/own-database.ts";
import { runHistories, SCALE } from "../random/histories.ts";
import { claim } from "../support/claim.ts";
import { MicroClock } from "../support/micro-clock.ts";

/*
 * Processes whose zone data differ: one of them says that windows begin an hour earlier. The window that is kept wins.
 */

const HISTORIES = 60 * SCALE;
const HOUR = 3_600_000_000n;
const PERIOD = 30n * 24n * HOUR;
const LIMIT = 5;

const redis = useOwnDatabase();

/** Windows of thirty days which begin so much after multiples of that. */
function calendarFrom(offset: bigint): Calendar {
  return {
    boundariesAround(now) {
      const opening = now - ((now - Number(offset)) % Number(PERIOD));
      return [-1, 0, 1, 2].map(
        (after) => opening + after * Number(PERIOD),
      ) as unknown as Boundaries;
    },
  };
}

function counterBy(calendar: Calendar, key: string): Counter {
  const limit = fixedWindow({ limit: LIMIT, window: "month" });
  const own = compileCalendarWindow(limit, "month", calendar);
  return { ...prepareLimits([{ ...own, per: "default", source: limit }]), key, keyspace: "" };
}

/** A charge, and the end of the window that was kept with it. */
interface Charged {
  readonly receipt: Receipt;
  readonly end: number;
}

test("no calendar window admits more than the limit when processes have different time zone data", async () => {
  let ended = 0;
  let given = 0;
  await runHistories(
    HISTORIES,
    async (random, history) => {
      const key = `zone-data:{${history}}`;
      const processes = [0n, HOUR, 23n * HOUR].map((offset) =>
        counterBy(calendarFrom(offset), key),
      );
      const time = new MicroClock(PERIOD * 700n + BigInt(random.whole(0, 3_600_000_000)));
      const stores = processes.map(() => requireStore(redisStore(redis, { clock: time.clock })));
      const charges: Charged[] = [];
      /** The last window in microseconds, and its used units. */
      let window = { start: 0, end: 0, used: 0 };
      for (let step = 0; step < 80; step += 1) {
        // Mostly within the hours in which they disagree.
        time.advance(BigInt(random.chance(0.8) ? random.whole(0, 4e9) : random.whole(0, 2.6e12)));
        const at = random.whole(0, processes.length - 1);
        const counters = [processes[at] as Counter];
        const store = stores[at] as (typeof stores)[number];
        const context = () => `step ${step} at ${time.now}, by process ${at}`;
        if (charges.length > 0 && random.chance(0.3)) {
          const charged = random.pick(charges.splice(random.whole(0, charges.length - 1)));
          if (!(await store.run(refund, { ...charged.receipt, counters }))) continue;
          claim(Number(time.now) < charged.end, () => `given back too late, ${context()}`);
          claim(charged.end === window.end, () => `given to another window, ${context()}`);
          window.used -= charged.receipt.cost;
          given += 1;
          continue;
        }
        const cost = random.whole(1, 3);
        const call = { cost, mode: "charge", counters } as const;
        const { now: clock, allowed, counters: decided } = await store.run(decide, call);
        if (!allowed) continue;
        const { start, end } = await readWindow(key);
        if (end !== window.end) {
          claim(start >= window.end, () => `begins before the end of the last one, ${context()}`);
          window = { start, end, used: 0 };
          ended += 1;
        }
        claim(start === window.start && clock < end, () => `another window, ${context()}`);
        window.used += cost;
        claim(window.used <= LIMIT, () => `${window.used} admitted until ${end}, ${context()}`);
        charges.push({
          receipt: {
            cost,
            chargedAt: clock,
            counters,
            generations: decided.map(({ generation }) => generation),
          },
          end,
        });
      }
    },
    32,
  );
  expect(ended).toBeGreaterThan(HISTORIES * 3);
  expect(given).toBeGreaterThan(HISTORIES * 3);
});

/** The window that a counter keeps: behind its numbers of 15 bytes and the units used. */
async function readWindow(key: string): Promise<{ start: number; end: number }> {
  const value = (await redis.getBuffer(key)) as Buffer;
  const timeAt = (at: number) => value.readUIntBE(at, 1) * 2 ** 48 + value.readUIntBE(at + 1, 6);
  return { start: timeAt(19), end: timeAt(26) };
}
