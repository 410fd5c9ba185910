import { setTimeout as delay } from "node:timers/promises";
import type { Limiter } from "@headgate/core";
import { concurrency, createLimiter, slidingLog } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { expect } from "vitest";
import { Random } from "../conformance/random/random.ts";
import { roundSeeds } from "../faults/round-seeds.ts";
import type { JobRun } from "../faults/work.ts";
import { maxConcurrency, startWork } from "../faults/work.ts";
import type { Failover } from "../support/lost-primaries.ts";
import { loseTo } from "../support/lost-primaries.ts";
import { waitUntil } from "../support/wait-until.ts";
import type { TimedDecision } from "./callers.ts";
import { admittedBy, percentile, startCallers } from "./callers.ts";

/** Longer than the default, for a machine that does other things as well. */
const STORE_TIMEOUT_MS = 250;
/** What a busy machine adds to a timer. */
const NOISE_MS = 50;
/** Low enough to be used up on each side of a failover. */
const LIMIT = 60;
/** Concurrency slots of the first subject. They expire soon, so that lost ones do not last. */
const SLOTS = 3;
const TTL_MS = 400;
/** The longest work, so that its slots have to be renewed. */
const LONGEST_WORK_MS = 2 * TTL_MS;
const AFTERWARDS_MS = 200;

interface FailoverOfSubjects extends Failover {
  /** The subjects whose counts are on the lost primary. */
  readonly subjects: readonly string[];
  /** Further subjects. */
  readonly others?: readonly string[];
}

/** The decisions around a failover. */
export interface Outlasted {
  /** Decisions requested before the loss. */
  readonly before: readonly TimedDecision[];
  /** Decisions requested since the loss. */
  readonly since: readonly TimedDecision[];
  /** The times of the failover and of the decisions, as text. */
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
  const slots = concurrency({ limit: SLOTS, ttl: TTL_MS });
  const working = createLimiter({ name: "work", limits: slots, store, storeTimeout }) as Limiter;
  const random = new Random(roundSeeds[0] as number);
  const size = { workers: 5, longestMs: LONGEST_WORK_MS };
  const work = startWork([working], subjects[0] as string, random, size);
  const callers = startCallers(limiter, [...subjects, ...others], 10);
  await delay(300);
  // The first request on a busy machine may take longer.
  await waitUntil(
    "the store has decided for every subject, and work has had a slot",
    10_000,
    () => {
      const isDecided = subjects.every((subject) =>
        callers.decisions.some((one) => one.subject === subject && one.decision.source === "store"),
      );
      return (isDecided && work.runs.some(({ source }) => source === "store")) || undefined;
    },
  );
  const before = [...callers.decisions];

  const { lostAt, takenOverAt } = await loseTo(failover);
  let backAt: number;
  try {
    backAt = await waitUntil("every subject is counted by the store again", recoveryMs, () =>
      subjects.every((subject) => {
        const last = callers.decisions.findLast((one) => one.subject === subject);
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
  claimSlots(work.runs, { lostAt, takenOverAt, wellAt: backAt + LONGEST_WORK_MS });

  const since = callers.decisions.filter(({ at }) => at >= lostAt);
  expect(percentile(since, 1)).toBeLessThanOrEqual(STORE_TIMEOUT_MS + NOISE_MS);
  for (const subject of subjects) {
    const ofSubject = callers.decisions.filter((one) => one.subject === subject);
    // Once more than the policy, if the replica lacked the last writes; and once in this process.
    expect(admittedBy(ofSubject, "store")).toBeLessThanOrEqual(2 * LIMIT);
    expect(admittedBy(ofSubject, "local")).toBeLessThanOrEqual(LIMIT);
  }
  const reported =
    `taken over after ${(takenOverAt - lostAt).toFixed(0)} ms, undegraded ${(backAt - takenOverAt).toFixed(0)} ms later; ` +
    `longest answer ${percentile(since, 1).toFixed(0)} ms, half of ${since.length} within ${percentile(since, 0.5).toFixed(2)} ms`;
  return { before, since, reported };
}

/** More work than slots runs only together with work that held a slot at the loss, or was admitted in this process. */
function claimSlots(
  ran: readonly JobRun[],
  at: { readonly lostAt: number; readonly takenOverAt: number; readonly wellAt: number },
): void {
  const inStore = ran.filter(({ source }) => source === "store");
  const held = inStore.filter(({ from, until }) => from < at.takenOverAt && until > at.lostAt);
  expect(inStore.some(({ from }) => from < at.lostAt)).toBe(true);
  expect(maxConcurrency(inStore)).toBeLessThanOrEqual(SLOTS + Math.min(SLOTS, held.length));
  expect(maxConcurrency(ran.filter(({ source }) => source === "local"))).toBeLessThanOrEqual(SLOTS);
  const since = ran.filter(({ until }) => until > at.wellAt);
  expect(since.length).toBeGreaterThan(0);
  expect(since.every(({ source }) => source === "store")).toBe(true);
  expect(maxConcurrency(since)).toBeLessThanOrEqual(SLOTS);
}
