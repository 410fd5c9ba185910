import { rejectExtraArgument, yieldToEventLoop } from "@headgate/core/internal";
import type { CallContext, FallbackContext, RunOptions, Target } from "../breaker.ts";
import { HeadgateBreakerOpenError } from "../breaker.ts";
import type { Settings } from "../breaker-options.ts";
import type { Outcome, RejectedCall } from "../channels.ts";
import type { BreakerState, CallDecision } from "../machine/period.ts";
import { publishRejected } from "../tracker/publish.ts";
import type { TargetTracker } from "../tracker/target-tracker.ts";
import { retryAfterMsOf, toSnapshot } from "../tracker/target-view.ts";
import type { AdmittedCall } from "./admission.ts";
import { admitCall, admitTrialCall, countedOutcome, readOutcome, toPermit } from "./admission.ts";
import type { CallResult } from "./make-call.ts";
import { classifyCall, makeCall, NO_OPTIONS, readRunOptions } from "./make-call.ts";

/** Shared by all targets of a breaker. */
interface TargetContext<Result> {
  readonly breaker: string;
  readonly settings: Settings<Result>;
  now(): number;
  /** Throws `HEADGATE_CLOSED`. */
  throwIfClosed(): void;
}

/** Creates the public methods of one target. */
export function createTarget<Result>(
  tracker: TargetTracker,
  context: TargetContext<Result>,
): Target<Result> {
  const { settings, throwIfClosed } = context;
  const { slowCallMs } = settings;
  const isTimed = slowCallMs !== Number.POSITIVE_INFINITY;

  /** The message of a call that is rejected now. */
  function describeRejection(): RejectedCall {
    const { view } = tracker;
    return {
      breaker: context.breaker,
      target: tracker.name,
      state: view.state,
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
    let outcome: Outcome | "ignore" = "failure";
    try {
      outcome = classifyCall(result, settings);
    } finally {
      const isSlow = isTimed && performance.now() - startedAtMs > slowCallMs;
      const counted = outcome === "ignore" ? outcome : countedOutcome(outcome, isSlow);
      // Not awaited, because the tracker reports errors of the store.
      admitted.end(counted)?.catch(() => {});
    }
    const usesFallback =
      outcome === "failure" && fallback !== undefined && result.how !== "aborted";
    if (usesFallback) return fallback(fallbackContextOf(result));
    if (result.how === "returned") return result.result;
    throw result.error;
  }

  const target: Target<Result> = {
    target: tracker.name,

    async run<T extends Result>(
      call: (context: CallContext) => T | Promise<T>,
      options: RunOptions<T> = NO_OPTIONS,
    ) {
      throwIfClosed();
      const timeoutMs = readRunOptions(call, options);
      const { fallback, signal } = options;
      signal?.throwIfAborted();
      const decision = tracker.decideLocally() ?? (await tracker.requestCall());
      if (signal?.aborted) {
        if (decision.kind === "trial") {
          tracker.endTrialCall(decision.leaseId, "ignore").catch(() => {});
        }
        throw signal.reason;
      }
      if (decision.kind === "rejected") {
        publishRejected(describeRejection);
        if (fallback === undefined) throw new HeadgateBreakerOpenError(describeRejection());
        return fallback(new OpenFallbackContext(describeRejection()));
      }
      const admitted = admit(decision);
      const started = isTimed ? performance.now() : 0;
      return finishCall(await makeCall(call, signal, timeoutMs), admitted, started, fallback);
    },

    async admit(more?: unknown) {
      throwIfClosed();
      rejectExtraArgument("admit()", more);
      const decision = tracker.decideLocally() ?? (await tracker.requestCall());
      if (decision.kind !== "rejected") {
        return toPermit(admit(decision), { ...describeRejection(), retryAfterMs: 0 }, slowCallMs);
      }
      publishRejected(describeRejection);
      return toPermit(undefined, describeRejection(), slowCallMs);
    },

    async record(outcome, durationMs, more?: unknown) {
      throwIfClosed();
      rejectExtraArgument("record(outcome, durationMs)", more);
      await tracker.recordOutcome(readOutcome(outcome, durationMs, slowCallMs), "any");
    },

    async snapshot(more?: unknown) {
      throwIfClosed();
      rejectExtraArgument("snapshot()", more);
      await tracker.refresh();
      return toSnapshot(tracker.view);
    },

    forceOpen: createStateSetter("forceOpen", "forced-open"),
    disable: createStateSetter("disable", "disabled"),
    metricsOnly: createStateSetter("metricsOnly", "metrics-only"),
    reset: createStateSetter("reset", "closed", true),
  };

  return {
    target: tracker.name,
    run: forLoops(target.run) as typeof target.run,
    admit: forLoops(target.admit),
    record: forLoops(target.record),
    snapshot: forLoops(target.snapshot),
    forceOpen: forLoops(target.forceOpen),
    disable: forLoops(target.disable),
    metricsOnly: forLoops(target.metricsOnly),
    reset: forLoops(target.reset),
  };

  /** Creates a method that sets the state by hand. */
  function createStateSetter(
    method: string,
    state: BreakerState,
    emptiesWindow = false,
  ): () => Promise<void> {
    return async (more?: unknown) => {
      throwIfClosed();
      rejectExtraArgument(`${method}()`, more);
      await tracker.setState(state, emptiesWindow);
    };
  }

  function admit(decision: CallDecision): AdmittedCall {
    return decision.kind === "trial"
      ? admitTrialCall(tracker, decision.leaseId, settings)
      : admitCall(tracker);
  }
}

/** A method that a loop can await without stopping the event loop. */
function forLoops<Args extends unknown[], T>(
  method: (...args: Args) => Promise<T>,
): (...args: Args) => Promise<T> {
  return (...args) => yieldToEventLoop(method(...args));
}

/** Why the fallback is called for a rejected call. */
class OpenFallbackContext {
  readonly reason = "open";
  readonly retryAfterMs: number;
  readonly #rejected: RejectedCall;
  #error: HeadgateBreakerOpenError | undefined;

  constructor(rejected: RejectedCall) {
    this.retryAfterMs = rejected.retryAfterMs;
    this.#rejected = rejected;
  }

  /** Created when it is read: it costs more than all the rest of a rejected call. */
  get error(): HeadgateBreakerOpenError {
    this.#error ??= new HeadgateBreakerOpenError(this.#rejected);
    return this.#error;
  }
}

/** Why the fallback is called for a call that failed. */
function fallbackContextOf<Result>(result: CallResult<Result>): FallbackContext<Result> {
  if (result.how === "returned") return { reason: "result", result: result.result };
  if (result.how === "timeout") return { reason: "timeout", error: result.error };
  return { reason: "error", error: result.error };
}
