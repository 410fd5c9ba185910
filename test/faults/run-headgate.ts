import { Random } from "../conformance/random/random.ts";
import { waitUntil } from "../support/wait-until.ts";
import type { Caller } from "./callers/caller.ts";
import { makeHeadgateCallers } from "./callers/headgate-callers.ts";
import { chargedIn } from "./charges.ts";
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

const PACE = { everyMs: 10, recoveryMs: 12_000, patienceMs: 2_000 };

/** A busy machine may look like one more fault at the very end. */
const UP_TIMEOUT_MS = 5_000;

/** Longer than denials are remembered. Where there are many rounds, some last longer: clients wait ever longer to reconnect. */
const BROKEN_MS = 1_300;
const LONGEST_BROKEN_MS = 4_000;

/** One round of a fault against Headgate: six callers at once, and what became of them. */
export async function runHeadgate<T extends Target>(
  fault: Fault<T>,
  seed: number,
): Promise<HeadgateFigures> {
  const random = new Random(seed);
  const state = watchState();
  const rejections = watchRejections();
  const target = await fault.start();
  const callers = await makeHeadgateCallers(target.place, state.noteLine);
  const clients = callers.map(({ client }) => client);
  try {
    // A client that is connecting has listeners of its own for that.
    if (!fault.isBrokenAtStart) await Promise.all(clients.map(({ connected }) => connected));
    const heapBefore = heapMegabytes();
    const listenersBefore = countListeners(clients);
    const figures = await measureRound(fault, target, callers, random);
    await waitUntil("the store is up for everybody", UP_TIMEOUT_MS, () =>
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

/** The round itself is forgotten with this call: its samples are no growth of Headgate's. */
async function measureRound<T extends Target>(
  fault: Fault<T>,
  target: T,
  callers: readonly Caller[],
  random: Random,
) {
  const brokenMs = roundSeeds.length === 1 ? BROKEN_MS : random.whole(BROKEN_MS, LONGEST_BROKEN_MS);
  const round = await runRound(fault, target, callers, random, { ...PACE, brokenMs });
  return {
    brokenMs: round.healingAt - round.brokenAt,
    longestStallMs: round.stalls.longest(),
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

/** All callers together. An abandoned call may be charged without admitting anybody, never the other way round. */
async function countCharges(fault: Fault, { admin }: Target, round: Round) {
  if (admin === undefined) return { charged: null, admittedByStore: null };
  const since = fault.forgets === "everything" ? round.brokenAt : Number.NEGATIVE_INFINITY;
  const counted = round.samples.filter(({ subject }) => fault.forgets !== "hot" || subject !== HOT);
  const subjects = [...new Set(counted.map(({ subject }) => subject))];
  const names = new Set(round.samples.map(({ caller }) => caller.name));
  let charged = 0;
  for (const name of names) charged += await chargedIn(admin, name, subjects);
  const admittedByStore = counted.filter(
    ({ answer }) => answer?.isAdmitted && answer.takenBy === "store" && answer.decidedAt >= since,
  ).length;
  return { charged, admittedByStore };
}
