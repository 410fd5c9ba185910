import type { Caller } from "./callers/caller.ts";
import { LIMIT, WINDOW_MS } from "./callers/policy.ts";
import type { Fault } from "./faults/fault.ts";
import type { Sample } from "./load.ts";
import { HOT } from "./load.ts";
import type { Round } from "./round.ts";
import { firstFromStore, isAffected } from "./round.ts";
import { measureSpans } from "./spans.ts";

/** The measurements of one caller in one round. */
export interface CallerFigures {
  readonly caller: string;
  readonly library: string;
  readonly requests: number;
  /** Requests that had no answer when the round ended. */
  readonly unanswered: number;
  /** The longest time to a decision, in total and net of stalls (see `measureSpans`). */
  readonly longestMs: number;
  readonly longestNetMs: number;
  /** The longest time until the client had its answer, in total and net of stalls. */
  readonly longestAnswerMs: number;
  readonly longestAnswerNetMs: number;
  /** Decisions requested while the store was known to be down, and how many of them took at most 1 ms. */
  readonly whileDown: number;
  readonly whileDownAtOnce: number;
  /** From healing until the client was usable; null if it never lost its connection. */
  readonly reconnectMs: number | null;
  /** From then to the first decision of the store, in total and net of all stalls; null if there was none. */
  readonly recoveryMs: number | null;
  readonly recoveryNetMs: number | null;
  /** Units admitted for the hot subject, and their upper bound. */
  readonly admitted: number;
  readonly bound: number;
  /** Decisions without the store, before and after the store decided again. */
  readonly degraded: number;
  readonly degradedAfterRecovery: number;
  /** Errors that reached clients, which must not happen: the number of each message. */
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
  const down = decisionsWhileDown(
    fault,
    samples.filter((sample) => isAffected(fault, sample)),
  );
  const fallbacks = samples.filter(({ answer }) => answer?.source === "fallback");
  const later = fallbacks.filter(
    ({ sentAt }) => sentAt > (recoveredAt ?? Number.POSITIVE_INFINITY),
  );

  return {
    caller: caller.name,
    library: caller.client.library,
    requests: samples.length,
    unanswered: samples.length - answered.length,
    longestMs: largest(spans.map(({ decisionMs }) => decisionMs)),
    longestNetMs: largest(spans.map(({ decisionNetMs }) => decisionNetMs)),
    longestAnswerMs: largest(spans.map(({ answerMs }) => answerMs)),
    longestAnswerNetMs: largest(spans.map(({ answerNetMs }) => answerNetMs)),
    whileDown: down.length,
    whileDownAtOnce: down.filter(
      ({ answer }) => answer !== undefined && answer.decidedAt - answer.requestedAt <= AT_ONCE_MS,
    ).length,
    reconnectMs: hadLost ? Math.max(0, reconnectedAt - round.healedAt) : null,
    recoveryMs,
    recoveryNetMs:
      recoveryMs === null
        ? null
        : recoveryMs - round.stalls.stalledMs(reconnectedAt, reconnectedAt + recoveryMs),
    admitted: samples.filter(({ subject, answer }) => subject === HOT && answer?.isAdmitted).length,
    bound: boundOf(fault, round, fallbacks.length > 0),
    degraded: fallbacks.length - later.length,
    degradedAfterRecovery: later.length,
    errors: countErrors(samples),
  };
}

/** When the client could use the healed store: at its "ready" event, or at the healing if it stayed connected. */
function reconnectionOf({ healingAt, healedAt, usableAt }: Round, caller: Caller) {
  const usable = usableAt.get(caller);
  if (usable !== undefined) return { reconnectedAt: usable, hadLost: true };
  const { connection } = caller.client;
  if (connection.wasReadyAt(healingAt)) {
    // A server that restarts on the same port closes its connections while the fault is healed.
    const again = connection.readySince(healingAt);
    return { reconnectedAt: again ?? healedAt, hadLost: again !== undefined };
  }
  return { reconnectedAt: connection.readySince(healingAt) ?? healedAt, hadLost: true };
}

/**
 * Selects the decisions without the store that were requested after the caller's last answer came without it as well. If the store
 * is up and only one subject's counters are unusable, a caller cannot know before it queries the store, so there are none.
 */
function decisionsWhileDown({ degrades, isOutage }: Fault, samples: readonly Sample[]): Sample[] {
  if (degrades === "hot" && !isOutage) return [];
  const isFallback = ({ answer }: Sample) => answer?.source === "fallback";
  const byAnswer = samples
    .filter(({ answeredAt }) => answeredAt !== undefined)
    .sort((left, right) => Number(left.answeredAt) - Number(right.answeredAt));
  return samples.filter((sample) => {
    if (!isFallback(sample)) return false;
    const last = byAnswer.findLast(({ answeredAt }) => Number(answeredAt) < sample.sentAt);
    return last !== undefined && isFallback(last);
  });
}

/** The full limit for each time that the counters started from zero, plus the units that recover during the round. */
function boundOf({ loses }: Fault, { samples, endedAt }: Round, wasDegraded: boolean): number {
  const durationMs = endedAt - (samples[0]?.sentAt ?? endedAt);
  const resets = 1 + (loses === "nothing" ? 0 : 1) + (wasDegraded ? 1 : 0);
  return resets * Math.floor(LIMIT + (LIMIT * durationMs) / WINDOW_MS);
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
