import { rejectExtraArgument } from "@headgate/core/internal";
import type { CallContext, RunOptions, Target } from "../breaker.ts";
import { HeadgateBreakerOpen } from "../breaker-open.ts";
import type { Settings } from "../breaker-options.ts";
import type { RejectedCall } from "../channels.ts";
import { publishRejected } from "../channels.ts";
import { CLOSED, DISABLED, FORCED_OPEN, METRICS_ONLY } from "../machine/period.ts";
import type { OutcomeCode } from "../machine/window.ts";
import type { TargetTracker } from "../tracker/target-tracker.ts";
import { retryAfterMsOf, stateOf, toSnapshot } from "../tracker/target-view.ts";
import type { AdmittedCall } from "./admission.ts";
import { admitCall, admitTrialCall, codeOfOutcome, toPermit } from "./admission.ts";
import { classifyCall } from "./classify-call.ts";
import { fallbackContextOf, OpenFallbackContext } from "./fallback-context.ts";
import type { CallResult } from "./make-call.ts";
import { makeCall } from "./make-call.ts";
import { NO_OPTIONS, readRunOptions } from "./run-options.ts";

/** Shared by all targets of a breaker. */
export interface TargetContext<Result> {
  readonly breaker: string;
  readonly settings: Settings<Result>;
  now(): number;
  /** Throws `HEADGATE_CLOSED`. */
  throwIfClosed(): void;
}

/** Makes the public methods of one target. */
export function createTarget<Result>(
  tracker: TargetTracker,
  context: TargetContext<Result>,
): Target<Result> {
  const { settings, throwIfClosed } = context;
  const { slowCallMs } = settings;
  const isTimed = slowCallMs !== Number.POSITIVE_INFINITY;

  /** A call that is not let through now, as it is published. */
  function describeRejection(): RejectedCall {
    const { view } = tracker;
    return {
      breaker: context.breaker,
      target: tracker.name,
      state: stateOf(view),
      retryAfterMs: retryAfterMsOf(view, context.now()),
      degraded: view.degraded,
    };
  }

  /** Reports how a call ended, and settles it for its caller. */
  function finishCall<T extends Result>(
    result: CallResult<T>,
    admitted: AdmittedCall,
    startedAtMs: number,
    fallback: RunOptions<T>["fallback"],
  ): T | Promise<T> {
    let outcome: 0 | 1 | -1 = 1;
    try {
      outcome = classifyCall(result, settings);
    } finally {
      const slow = isTimed && performance.now() - startedAtMs > slowCallMs ? 2 : 0;
      const code = outcome === -1 ? -1 : ((outcome + slow) as OutcomeCode);
      // Not awaited: the link reports errors of the store.
      admitted.end(code)?.catch(() => {});
    }
    const usesFallback = outcome === 1 && fallback !== undefined && result.how !== "aborted";
    if (usesFallback) return fallback(fallbackContextOf(result));
    if (result.how === "returned") return result.result;
    throw result.error;
  }

  return {
    target: tracker.name,

    async run<T extends Result>(
      call: (context: CallContext) => T | Promise<T>,
      options: RunOptions<T> = NO_OPTIONS,
    ) {
      throwIfClosed();
      const timeoutMs = readRunOptions(call, options);
      const { fallback, signal } = options;
      signal?.throwIfAborted();
      const answer = tracker.decideLocally() ?? (await tracker.requestCall());
      if (signal?.aborted) {
        if (answer > 0) tracker.endTrialCall(answer, -1).catch(() => {});
        throw signal.reason;
      }
      if (answer === 0) {
        publishRejected(describeRejection);
        if (fallback === undefined) throw new HeadgateBreakerOpen(describeRejection());
        return fallback(new OpenFallbackContext(describeRejection()));
      }
      const admitted = admit(answer);
      const started = isTimed ? performance.now() : 0;
      return finishCall(await makeCall(call, signal, timeoutMs), admitted, started, fallback);
    },

    async admit(more?: unknown) {
      throwIfClosed();
      rejectExtraArgument("admit()", more);
      const answer = tracker.decideLocally() ?? (await tracker.requestCall());
      if (answer !== 0) {
        return toPermit(admit(answer), { ...describeRejection(), retryAfterMs: 0 }, slowCallMs);
      }
      publishRejected(describeRejection);
      return toPermit(undefined, describeRejection(), slowCallMs);
    },

    async record(outcome, durationMs, more?: unknown) {
      throwIfClosed();
      rejectExtraArgument("record(outcome, durationMs)", more);
      await tracker.recordOutcome(codeOfOutcome(outcome, durationMs, slowCallMs), -1);
    },

    async snapshot(more?: unknown) {
      throwIfClosed();
      rejectExtraArgument("snapshot()", more);
      await tracker.refresh();
      return toSnapshot(tracker.view);
    },

    forceOpen: createStateSetter("forceOpen", FORCED_OPEN),
    disable: createStateSetter("disable", DISABLED),
    metricsOnly: createStateSetter("metricsOnly", METRICS_ONLY),
    reset: createStateSetter("reset", CLOSED, true),
  };

  /** A method that sets the state by hand. */
  function createStateSetter(method: string, kind: number, empties = false): () => Promise<void> {
    return async (more?: unknown) => {
      throwIfClosed();
      rejectExtraArgument(`${method}()`, more);
      await tracker.setState(kind, empties);
    };
  }

  function admit(answer: number): AdmittedCall {
    return answer === -1 ? admitCall(tracker) : admitTrialCall(tracker, answer, settings);
  }
}
