import { setTimeout as delay } from "node:timers/promises";
import { Random } from "../conformance/random/random.ts";
import type { Caller } from "./callers/caller.ts";
import type { Fault, Target } from "./faults/fault.ts";
import type { Sample } from "./load.ts";
import { HOT, startLoad } from "./load.ts";
import type { Stalls } from "./stalls.ts";
import { watchStalls } from "./stalls.ts";
import { watchUsable } from "./usable.ts";

/** What one round of a fault left behind. Moments are of `performance.now()`. */
export interface Round {
  readonly samples: readonly Sample[];
  readonly stalls: Stalls;
  readonly brokenAt: number;
  /** When healing began, and when it was done. */
  readonly healingAt: number;
  readonly healedAt: number;
  /** When clients of a cluster or of Sentinels could be used again, by a read that was answered; a "ready" says nothing there. */
  readonly usableAt: ReadonlyMap<Caller, number>;
  readonly endedAt: number;
}

/** How a round is run. All times are milliseconds. */
export interface Pace {
  /** Between two questions of a caller. */
  readonly everyMs: number;
  /** How long it is broken; a seeded part of it is added. */
  readonly brokenMs: number;
  /** The longest wait until everybody is served by the store again. */
  readonly recoveryMs: number;
  /** The longest wait for answers at the end. */
  readonly patienceMs: number;
}

const CALM_MS = 700;
const AFTERWARDS_MS = 500;

/** Asks all the time, while the store is well, while it is broken, and until it is well again. */
export async function runRound<T extends Target>(
  fault: Fault<T>,
  target: T,
  callers: readonly Caller[],
  random: Random,
  pace: Pace,
): Promise<Round> {
  const stalls = watchStalls();
  const load = startLoad(callers, pace.everyMs, new Random(random.whole(0, 2 ** 31)));
  let heal = async () => {};
  try {
    await delay(fault.isBrokenAtStart ? 0 : CALM_MS + random.whole(0, 300));
    const brokenAt = performance.now();
    heal = await fault.breakIt(target, random);
    if (!fault.isBrief) await delay(pace.brokenMs + random.whole(0, pace.brokenMs / 2));
    const healingAt = performance.now();
    await heal();
    const healedAt = performance.now();
    const looking = target.place.kind === "server" ? [] : callers.map(watchUsable);
    while (performance.now() - healedAt < pace.recoveryMs) {
      if (callers.every((caller) => firstFromStore(fault, load.samples, caller, healedAt))) break;
      await delay(20);
    }
    await delay(AFTERWARDS_MS);
    const usableAt = new Map(looking.flatMap((look) => look.stop()));
    await load.stop(pace.patienceMs);
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

/** How much of a round the event loop could not run, from 0 to 1. */
export function stalledShareOf({ samples, stalls, endedAt }: Round): number {
  const from = samples[0]?.askedAt ?? endedAt;
  return endedAt === from ? 0 : stalls.within(from, endedAt) / (endedAt - from);
}

/** The first decision that the store took again, of those it could not take, asked for since a moment. */
export function firstFromStore(
  fault: Fault,
  samples: readonly Sample[],
  caller: Caller,
  since: number,
): Sample | undefined {
  return samples.find(
    (sample) =>
      sample.caller === caller &&
      sample.askedAt >= since &&
      sample.answer?.takenBy === "store" &&
      isAffected(fault, sample),
  );
}

/** Whether the store could not take this decision while it was broken. */
export function isAffected({ degrades }: Fault, { subject }: Sample): boolean {
  return degrades !== "hot" || subject === HOT;
}
