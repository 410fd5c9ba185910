import type { Caller } from "./callers/caller.ts";
import { LIMIT, WINDOW_MS } from "./callers/policy.ts";
import type { Fault } from "./faults/fault.ts";
import type { Sample } from "./load.ts";
import { HOT } from "./load.ts";
import type { Round } from "./round.ts";
import { firstFromStore, isAffected } from "./round.ts";
import { measureSpans } from "./spans.ts";

/** What one caller went through in one round. */
export interface CallerFigures {
  readonly caller: string;
  readonly library: string;
  readonly asked: number;
  /** Never answered, as long as the round waited. */
  readonly unanswered: number;
  /** The longest time to a decision; and net of stalls, see `measureSpans`. */
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
  /** From then to the first decision of the store, and net of all stalls; null when there was none. */
  readonly recoveryMs: number | null;
  readonly recoveryNetMs: number | null;
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
  const answered = samples.filter((sample) => sample.answeredAt !== undefined);
  const spans = answered.map((sample) => measureSpans(sample, round.stalls));

  const { reconnectedAt, hadLost } = reconnectionOf(round, caller);
  const first = firstFromStore(fault, samples, caller, round.healingAt);
  const recoveredAt = first?.answeredAt;
  const recoveryMs = recoveredAt === undefined ? null : Math.max(0, recoveredAt - reconnectedAt);
  const down = whileKnownDown(
    fault,
    samples.filter((sample) => isAffected(fault, sample)),
  );
  const fallbacks = samples.filter(({ answer }) => answer?.takenBy === "fallback");
  const later = fallbacks.filter(
    ({ askedAt }) => askedAt > (recoveredAt ?? Number.POSITIVE_INFINITY),
  );

  return {
    caller: caller.name,
    library: caller.client.library,
    asked: samples.length,
    unanswered: samples.length - answered.length,
    longestMs: largest(spans.map(({ decisionMs }) => decisionMs)),
    longestNetMs: largest(spans.map(({ decisionNetMs }) => decisionNetMs)),
    longestAnswerMs: largest(spans.map(({ answerMs }) => answerMs)),
    longestAnswerNetMs: largest(spans.map(({ answerNetMs }) => answerNetMs)),
    whenDown: down.length,
    whenDownAtOnce: down.filter(
      ({ answer }) => answer !== undefined && answer.decidedAt - answer.decidedFrom <= AT_ONCE_MS,
    ).length,
    reconnectMs: hadLost ? Math.max(0, reconnectedAt - round.healedAt) : null,
    recoveryMs,
    recoveryNetMs:
      recoveryMs === null
        ? null
        : recoveryMs - round.stalls.within(reconnectedAt, reconnectedAt + recoveryMs),
    admitted: samples.filter(({ subject, answer }) => subject === HOT && answer?.isAdmitted).length,
    bound: boundOf(fault, round, fallbacks.length > 0),
    degraded: fallbacks.length - later.length,
    degradedLater: later.length,
    errors: countErrors(samples),
  };
}

/** The moment from which the client could reach the healed store: its "ready", or the healing where it stayed connected. */
function reconnectionOf({ healingAt, healedAt, usableAt }: Round, caller: Caller) {
  const usable = usableAt.get(caller);
  if (usable !== undefined) return { reconnectedAt: usable, hadLost: true };
  const { connection } = caller.client;
  if (connection.wasReadyAt(healingAt)) {
    // A server that is started again in its place ends connections while it is healed.
    const again = connection.readySince(healingAt);
    return { reconnectedAt: again ?? healedAt, hadLost: again !== undefined };
  }
  return { reconnectedAt: connection.readySince(healingAt) ?? healedAt, hadLost: true };
}

/**
 * Decisions without the store, asked for after the caller's last answer had come without it as well. Where the store is up
 * and only one subject's counts are unusable, nothing is known before the store is asked.
 */
function whileKnownDown({ degrades, isOutage }: Fault, samples: readonly Sample[]): Sample[] {
  if (degrades === "hot" && !isOutage) return [];
  const isFallback = ({ answer }: Sample) => answer?.takenBy === "fallback";
  const byAnswer = samples
    .filter(({ answeredAt }) => answeredAt !== undefined)
    .sort((left, right) => Number(left.answeredAt) - Number(right.answeredAt));
  return samples.filter((sample) => {
    if (!isFallback(sample)) return false;
    const last = byAnswer.findLast(({ answeredAt }) => Number(answeredAt) < sample.askedAt);
    return last !== undefined && isFallback(last);
  });
}

/** A policy's worth for each time that counts began anew, with what comes back by itself in the time of a round. */
function boundOf({ forgets }: Fault, { samples, endedAt }: Round, wasDegraded: boolean): number {
  const lastedMs = endedAt - (samples[0]?.askedAt ?? endedAt);
  const counts = 1 + (forgets === "nothing" ? 0 : 1) + (wasDegraded ? 1 : 0);
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
