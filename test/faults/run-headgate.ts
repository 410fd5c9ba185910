import { Random } from "../conformance/random/random.ts";
import { waitUntil } from "../support/wait-until.ts";
import type { Caller } from "./callers/caller.ts";
import { makeHeadgateCallers } from "./callers/headgate-callers.ts";
import { readCharges } from "./charges.ts";
import type { FaultClient } from "./clients.ts";
import type { Fault, Target } from "./faults/fault.ts";
import { heapMegabytes } from "./heap.ts";
import { HOT } from "./load.ts";
import { measureCaller } from "./measure.ts";
import type { HeadgateFigures } from "./results.ts";
import type { Round } from "./round.ts";
import { runRound, stalledShareOf } from "./round.ts";
import { roundSeeds } from "./round-seeds.ts";
import { watchState } from "./state-changes.ts";
import { watchRejections } from "./unhandled-rejections.ts";

const TIMING = { intervalMs: 10, recoveryMs: 12_000, drainTimeoutMs: 2_000 };

/** The time that every client gets at the end to recover from a stall of a busy machine. */
const UP_TIMEOUT_MS = 5_000;

/** Longer than the deny cache keeps denials. With many rounds, some faults last longer, because clients back off further. */
const BROKEN_MS = 1_300;
const LONGEST_BROKEN_MS = 4_000;

/** Runs one round of a fault against six Headgate callers at once, and measures them. */
export async function runHeadgate<T extends Target>(
  fault: Fault<T>,
  seed: number,
): Promise<HeadgateFigures> {
  const random = new Random(seed);
  const state = watchState();
  const rejections = watchRejections();
  const target = await fault.start();
  const callers = await makeHeadgateCallers(target.endpoint, state.recordLine);
  const clients = callers.map(({ client }) => client);
  try {
    // A client has additional listeners while it connects, which would count as a leak.
    if (!fault.isBrokenAtStart) await Promise.all(clients.map(({ connected }) => connected));
    const heapBefore = heapMegabytes();
    const listenersBefore = countListeners(clients);
    const figures = await measureRound(fault, target, callers, random);
    await waitUntil("the store is up for every client", UP_TIMEOUT_MS, () =>
      state.changes.ups === state.changes.downs ? true : undefined,
    );
    return {
      seed,
      ...figures,
      changes: state.changes,
      unhandled: rejections.unhandled,
      listenersBefore,
      listenersAfter: countListeners(clients),
      heapBefore,
      heapAfter: heapMegabytes(),
    };
  } finally {
    await Promise.all(callers.map((caller) => caller.close()));
    await target.close();
    state.stop();
    rejections.stop();
  }
}

/** Runs in a function of its own, so that the samples of the round can be collected before the heap is measured. */
async function measureRound<T extends Target>(
  fault: Fault<T>,
  target: T,
  callers: readonly Caller[],
  random: Random,
) {
  const brokenMs = roundSeeds.length === 1 ? BROKEN_MS : random.whole(BROKEN_MS, LONGEST_BROKEN_MS);
  const round = await runRound(fault, target, callers, random, { ...TIMING, brokenMs });
  return {
    brokenMs: round.healingAt - round.brokenAt,
    longestStallMs: round.stalls.longestMs(),
    stalledShare: stalledShareOf(round),
    callers: callers.map((caller) => measureCaller(fault, round, caller)),
    ...(await countCharges(fault, target, round)),
  };
}

function countListeners(clients: readonly FaultClient[]): number {
  return clients
    .flatMap(({ client }) => client.eventNames().map((name) => client.listenerCount(name)))
    .reduce((sum, count) => sum + count, 0);
}

/** Sums up all callers. A call that timed out may be charged without being admitted, but never the other way round. */
async function countCharges(fault: Fault, { admin }: Target, round: Round) {
  if (admin === undefined) return { charged: null, admittedByStore: null };
  const since = fault.loses === "everything" ? round.brokenAt : Number.NEGATIVE_INFINITY;
  const counted = round.samples.filter(({ subject }) => fault.loses !== "hot" || subject !== HOT);
  const subjects = [...new Set(counted.map(({ subject }) => subject))];
  const names = new Set(round.samples.map(({ caller }) => caller.name));
  let charged = 0;
  for (const name of names) charged += await readCharges(admin, name, subjects);
  const admittedByStore = counted.filter(
    ({ answer }) => answer?.isAdmitted && answer.source === "store" && answer.decidedAt >= since,
  ).length;
  return { charged, admittedByStore };
}
