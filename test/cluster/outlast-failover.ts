import { setTimeout as delay } from "node:timers/promises";
import type { Limiter } from "@headgate/core";
import { concurrency, createLimiter, slidingLog } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { expect } from "vitest";
import { Random } from "../conformance/random/random.ts";
import { roundSeeds } from "../faults/round-seeds.ts";
import type { Ran } from "../faults/work.ts";
import { mostAtOnce, startWork } from "../faults/work.ts";
import type { Failover } from "../support/lost-primaries.ts";
import { loseTo } from "../support/lost-primaries.ts";
import { waitUntil } from "../support/wait-until.ts";
import type { Asked } from "./callers.ts";
import { admittedBy, percentile, startCallers } from "./callers.ts";

/** Longer than the default, for a machine that does other things as well. */
const STORE_TIMEOUT_MS = 250;
/** What a busy machine adds to a timer. */
const NOISE_MS = 50;
/** Few enough that all of them are asked for on each side of a failover. */
const LIMIT = 60;
/** Places, of the first of the subjects; short, so that what was lost is over soon. */
const PLACES = 3;
const TTL_MS = 400;
/** Work goes on for as long, at most: so that its places have to be renewed. */
const LONGEST_WORK_MS = 2 * TTL_MS;
const AFTERWARDS_MS = 200;

interface FailoverOfSubjects extends Failover {
  /** Whose counts the primary has that is lost. */
  readonly subjects: readonly string[];
  /** Who is asked for as well. */
  readonly others?: readonly string[];
}

/** What was answered, and when. */
export interface Outlasted {
  /** Until the loss. */
  readonly before: readonly Asked[];
  /** Asked from the loss on. */
  readonly since: readonly Asked[];
  /** In words: the times of the failover and of the answers. */
  readonly reported: string;
}

/** Loses a primary under load: answers come in time, no more than the bound is admitted, and the store decides again. */
export async function outlastFailover(failover: FailoverOfSubjects): Promise<Outlasted> {
  const { client, subjects, others = [], recoveryMs } = failover;
  const limits = [slidingLog({ limit: LIMIT, window: "7d" })];
  const store = redisStore(client);
  const storeTimeout = STORE_TIMEOUT_MS;
  const limiter = createLimiter({
    name: "api",
    limits,
    store,
    storeTimeout,
    denyCache: false,
  }) as Limiter;
  const places = concurrency({ limit: PLACES, ttl: TTL_MS });
  const working = createLimiter({ name: "work", limits: places, store, storeTimeout }) as Limiter;
  const random = new Random(roundSeeds[0] as number);
  const size = { workers: 5, longestMs: LONGEST_WORK_MS };
  const work = startWork([working], subjects[0] as string, random, size);
  const callers = startCallers(limiter, [...subjects, ...others], 10);
  await delay(300);
  // Whoever is first on a busy machine may take longer.
  await waitUntil("the store has decided for everybody, and work has had a place", 10_000, () => {
    const isAsked = subjects.every((subject) =>
      callers.asked.some((one) => one.subject === subject && one.decision.source === "store"),
    );
    return (isAsked && work.ran.some(({ source }) => source === "store")) || undefined;
  });
  const before = [...callers.asked];

  const { lostAt, takenOverAt } = await loseTo(failover);
  let backAt: number;
  try {
    backAt = await waitUntil("every subject is counted by the store again", recoveryMs, () =>
      subjects.every((subject) => {
        const last = callers.asked.findLast((one) => one.subject === subject);
        return last !== undefined && last.at > lostAt && !last.decision.degraded;
      })
        ? performance.now()
        : undefined,
    );
    // What began before has ended by then.
    await delay(LONGEST_WORK_MS + AFTERWARDS_MS);
  } finally {
    await callers.stop();
    await work.stop();
  }
  await limiter.close();
  expect(work.errors).toEqual([]);
  claimPlaces(work.ran, { lostAt, takenOverAt, wellAt: backAt + LONGEST_WORK_MS });

  const since = callers.asked.filter(({ at }) => at >= lostAt);
  expect(percentile(since, 1)).toBeLessThanOrEqual(STORE_TIMEOUT_MS + NOISE_MS);
  for (const subject of subjects) {
    const asked = callers.asked.filter((one) => one.subject === subject);
    // Once more than the policy, where the replica had not heard of the last writes; and once in this process.
    expect(admittedBy(asked, "store")).toBeLessThanOrEqual(2 * LIMIT);
    expect(admittedBy(asked, "local")).toBeLessThanOrEqual(LIMIT);
  }
  const reported =
    `taken over after ${(takenOverAt - lostAt).toFixed(0)} ms, undegraded ${(backAt - takenOverAt).toFixed(0)} ms later; ` +
    `longest answer ${percentile(since, 1).toFixed(0)} ms, half of ${since.length} within ${percentile(since, 0.5).toFixed(2)} ms`;
  return { before, since, reported };
}

/** More work than there are places runs only beside that which held one at the loss, and what is admitted in this process. */
function claimPlaces(
  ran: readonly Ran[],
  at: { readonly lostAt: number; readonly takenOverAt: number; readonly wellAt: number },
): void {
  const inStore = ran.filter(({ source }) => source === "store");
  const held = inStore.filter(({ from, until }) => from < at.takenOverAt && until > at.lostAt);
  expect(inStore.some(({ from }) => from < at.lostAt)).toBe(true);
  expect(mostAtOnce(inStore)).toBeLessThanOrEqual(PLACES + Math.min(PLACES, held.length));
  expect(mostAtOnce(ran.filter(({ source }) => source === "local"))).toBeLessThanOrEqual(PLACES);
  const since = ran.filter(({ until }) => until > at.wellAt);
  expect(since.length).toBeGreaterThan(0);
  expect(since.every(({ source }) => source === "store")).toBe(true);
  expect(mostAtOnce(since)).toBeLessThanOrEqual(PLACES);
}
