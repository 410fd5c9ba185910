import { setTimeout as delay } from "node:timers/promises";
import { Random } from "../conformance/random/random.ts";
import type { Caller } from "./callers/caller.ts";
import type { Fault, Target } from "./faults/fault.ts";
import type { Sample } from "./load.ts";
import { HOT, startLoad } from "./load.ts";
import type { Stalls } from "./stalls.ts";
import { watchStalls } from "./stalls.ts";
import { watchUsable } from "./usable.ts";

/** The record of one round of a fault. Times are from `performance.now()`. */
export interface Round {
  readonly samples: readonly Sample[];
  readonly stalls: Stalls;
  readonly brokenAt: number;
  /** When the healing began and when it was complete. */
  readonly healingAt: number;
  readonly healedAt: number;
  /** When the first read through each client of a cluster or of Sentinels succeeded: their "ready" event does not show that. */
  readonly usableAt: ReadonlyMap<Caller, number>;
  readonly endedAt: number;
}

/** The timing of a round, in milliseconds. */
export interface RoundTiming {
  /** Between two requests of a caller. */
  readonly intervalMs: number;
  /** The duration of the fault, without stalls of the event loop; a seeded random part of up to half of it is added. */
  readonly brokenMs: number;
  /** The longest wait until the store decides for every caller again. */
  readonly recoveryMs: number;
  /** The longest wait for answers at the end. */
  readonly drainTimeoutMs: number;
}

const CALM_MS = 700;
const AFTERWARDS_MS = 500;

/** Sends requests without a pause: before the fault, during it, and until the store has recovered. */
export async function runRound<T extends Target>(
  fault: Fault<T>,
  target: T,
  callers: readonly Caller[],
  random: Random,
  timing: RoundTiming,
): Promise<Round> {
  const stalls = watchStalls();
  const load = startLoad(callers, timing.intervalMs, new Random(random.whole(0, 2 ** 31)));
  let heal = async () => {};
  try {
    await delay(fault.isBrokenAtStart ? 0 : CALM_MS + random.whole(0, 300));
    const brokenAt = performance.now();
    heal = await fault.inject(target, random);
    if (!fault.isBrief) {
      await runFor(timing.brokenMs + random.whole(0, timing.brokenMs / 2), stalls);
    }
    const healingAt = performance.now();
    await heal();
    const healedAt = performance.now();
    const watches = target.endpoint.kind === "server" ? [] : callers.map(watchUsable);
    while (performance.now() - healedAt < timing.recoveryMs) {
      if (callers.every((caller) => firstFromStore(fault, load.samples, caller, healedAt))) break;
      await delay(20);
    }
    await delay(AFTERWARDS_MS);
    const usableAt = new Map(watches.flatMap((watch) => watch.stop()));
    await load.stop(timing.drainTimeoutMs);
    const endedAt = performance.now();
    return { samples: load.samples, stalls, brokenAt, healingAt, healedAt, usableAt, endedAt };
  } catch (error) {
    await load.stop(0);
    await heal();
    throw error;
  } finally {
    stalls.stop();
  }
}

/** Waits until the event loop has run for some milliseconds: while it stood still, no client could notice a fault. */
async function runFor(ms: number, stalls: Stalls): Promise<void> {
  const from = performance.now();
  const left = (now: number): number => ms - (now - from - stalls.stalledMs(from, now));
  for (let wait = ms; wait > 0; wait = left(performance.now())) await delay(wait);
}

/** The share of a round in which the event loop did not run, from 0 to 1. */
export function stalledShareOf({ samples, stalls, endedAt }: Round): number {
  const from = samples[0]?.sentAt ?? endedAt;
  return endedAt === from ? 0 : stalls.stalledMs(from, endedAt) / (endedAt - from);
}

/** The first decision of the store that was requested since a moment, among the subjects that the fault affects. */
export function firstFromStore(
  fault: Fault,
  samples: readonly Sample[],
  caller: Caller,
  since: number,
): Sample | undefined {
  return samples.find(
    (sample) =>
      sample.caller === caller &&
      sample.sentAt >= since &&
      sample.answer?.source === "store" &&
      isAffected(fault, sample),
  );
}

/** Whether the fault kept the store from making this decision. */
export function isAffected({ degrades }: Fault, { subject }: Sample): boolean {
  return degrades !== "hot" || subject === HOT;
}
