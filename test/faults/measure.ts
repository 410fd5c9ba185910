import type { Caller } from "./callers/caller.ts";
import { LIMIT, WINDOW_MS } from "./callers/policy.ts";
import type { Fault } from "./faults/fault.ts";
import type { Sample } from "./load.ts";
import { HOT } from "./load.ts";
import type { Round } from "./round.ts";
import { firstFromStore } from "./round.ts";

/** What one caller went through in one round. */
export interface CallerFigures {
  readonly caller: string;
  readonly library: string;
  readonly asked: number;
  /** Never answered, as long as the round waited. */
  readonly unanswered: number;
  /** The longest time to a decision, and without what the event loop could not run meanwhile. */
  readonly longestMs: number;
  readonly longestNetMs: number;
  /** The same until the client had its answer. */
  readonly longestAnswerMs: number;
  readonly longestAnswerNetMs: number;
  /** Decisions asked for once the store was known to be down, and how many of them were there within 1 ms. */
  readonly whenDown: number;
  readonly whenDownAtOnce: number;
  /** From healing until the client could be used; null where it never lost its connection. */
  readonly reconnectMs: number | null;
  /** From then to the first decision of the store; null when there was none. */
  readonly recoveryMs: number | null;
  /** Units that the hot subject was given, and the most that may be. */
  readonly admitted: number;
  readonly bound: number;
  /** Decisions without the store: before the store was well again, and after. */
  readonly degraded: number;
  readonly degradedLater: number;
  /** What reached clients and never should: messages, with their number. */
  readonly errors: Readonly<Record<string, number>>;
}

const AT_ONCE_MS = 1;

export function measureCaller(fault: Fault, round: Round, caller: Caller): CallerFigures {
  const samples = round.samples.filter((sample) => sample.caller === caller);
  const decisions = samples.map(({ answer }) => answer).filter((answer) => answer !== undefined);
  const answered = samples.filter((sample) => sample.answeredAt !== undefined);
  const { within } = round.stalls;

  const decisionSpans = decisions.map(
    ({ decidedFrom, decidedAt }) => [decidedFrom, decidedAt] as const,
  );
  const answerSpans = answered.map(
    ({ askedAt, answeredAt = askedAt }) => [askedAt, answeredAt] as const,
  );
  const length = ([from, to]: readonly [number, number]) => to - from;
  const net = ([from, to]: readonly [number, number]) => to - from - within(from, to);

  const { reconnectedAt, hadLost } = reconnectionOf(round, caller);
  const first = firstFromStore(fault, samples, caller, round.healingAt);
  const recoveredAt = first?.answeredAt;
  const down = whileKnownDown(samples, round);
  const fallbacks = samples.filter(({ answer }) => answer?.takenBy === "fallback");
  const later = fallbacks.filter(
    ({ askedAt }) => askedAt > (recoveredAt ?? Number.POSITIVE_INFINITY),
  );

  return {
    caller: caller.name,
    library: caller.client.library,
    asked: samples.length,
    unanswered: samples.length - answered.length,
    longestMs: largest(decisionSpans.map(length)),
    longestNetMs: largest(decisionSpans.map(net)),
    longestAnswerMs: largest(answerSpans.map(length)),
    longestAnswerNetMs: largest(answerSpans.map(net)),
    whenDown: down.length,
    whenDownAtOnce: down.filter(
      ({ answer }) => answer !== undefined && answer.decidedAt - answer.decidedFrom <= AT_ONCE_MS,
    ).length,
    reconnectMs: hadLost ? Math.max(0, reconnectedAt - round.healedAt) : null,
    recoveryMs: recoveredAt === undefined ? null : Math.max(0, recoveredAt - reconnectedAt),
    admitted: samples.filter(({ subject, answer }) => subject === HOT && answer?.isAdmitted).length,
    bound: boundOf(fault, round, fallbacks.length > 0),
    degraded: fallbacks.length - later.length,
    degradedLater: later.length,
    errors: countErrors(samples),
  };
}

/** The moment from which the client could reach the healed store: its "ready", or the healing where it stayed connected. */
function reconnectionOf({ healingAt, healedAt }: Round, { client }: Caller) {
  const { connection } = client;
  if (connection.wasReadyAt(healingAt)) {
    // A server that is started again in its place ends connections while it is healed.
    const again = connection.readySince(healingAt);
    return { reconnectedAt: again ?? healedAt, hadLost: again !== undefined };
  }
  return { reconnectedAt: connection.readySince(healingAt) ?? healedAt, hadLost: true };
}

/** From the caller's first answer that came without the store, until healing. */
function whileKnownDown(samples: readonly Sample[], { brokenAt, healingAt }: Round): Sample[] {
  const known = samples.find(
    ({ askedAt, answer }) => askedAt >= brokenAt && answer?.takenBy === "fallback",
  )?.answeredAt;
  if (known === undefined) return [];
  return samples.filter(({ askedAt }) => askedAt > known && askedAt < healingAt);
}

/** A policy's worth for each time that counts began anew, with what comes back by itself in the time of a round. */
function boundOf({ losses }: Fault, { samples, endedAt }: Round, wasDegraded: boolean): number {
  const lastedMs = endedAt - (samples[0]?.askedAt ?? endedAt);
  const counts = 1 + losses + (wasDegraded ? 1 : 0);
  return counts * Math.floor(LIMIT + (LIMIT * lastedMs) / WINDOW_MS);
}

function countErrors(samples: readonly Sample[]): Record<string, number> {
  const errors: Record<string, number> = {};
  for (const { error } of samples) {
    if (error === undefined) continue;
    const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    errors[text] = (errors[text] ?? 0) + 1;
  }
  return errors;
}

function largest(numbers: readonly number[]): number {
  return numbers.reduce((most, next) => Math.max(most, next), 0);
}
