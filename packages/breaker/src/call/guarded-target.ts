import { rejectMore } from "@headgate/core/internal";
import type { CallContext, RunOptions, Target } from "../breaker.ts";
import { HeadgateBreakerOpen } from "../breaker-open.ts";
import type { Settings } from "../breaker-options.ts";
import type { RejectedCall } from "../channels.ts";
import { publishRejected } from "../channels.ts";
import type { TargetLink } from "../link/target-link.ts";
import { retryAfterMs, stateOf, toSnapshot } from "../link/view.ts";
import { CLOSED, DISABLED, FORCED_OPEN, METRICS_ONLY } from "../machine/period.ts";
import type { OutcomeCode } from "../machine/window.ts";
import type { Admission } from "./admission.ts";
import { admitCall, admitTrial, codeOfOutcome, toPermit } from "./admission.ts";
import { classifyCall } from "./classify-call.ts";
import type { Ending } from "./made-call.ts";
import { makeCall } from "./made-call.ts";
import { OpenRefusal, refusalOf } from "./refusal.ts";
import { NO_OPTIONS, readRunOptions } from "./run-options.ts";

/** Shared by all targets of a breaker. */
export interface Guard<Result> {
  readonly breaker: string;
  readonly settings: Settings<Result>;
  now(): number;
  /** Throws `HEADGATE_CLOSED`. */
  requireUsable(): void;
}

/** Makes the public methods of one target. */
export function guardTarget<Result>(link: TargetLink, guard: Guard<Result>): Target<Result> {
  const { settings, requireUsable } = guard;
  const { slowCallMs } = settings;
  const isTimed = slowCallMs !== Number.POSITIVE_INFINITY;

  /** A call that is not let through now, as it is published. */
  function rejected(): RejectedCall {
    const { view } = link;
    return {
      breaker: guard.breaker,
      target: link.name,
      state: stateOf(view),
      retryAfterMs: retryAfterMs(view, guard.now()),
      degraded: view.degraded,
    };
  }

  /** Reports how a call ended, and settles it for its caller. */
  function recordOutcome<T extends Result>(
    ending: Ending<T>,
    admission: Admission,
    started: number,
    fallback: RunOptions<T>["fallback"],
  ): T | Promise<T> {
    let outcome: 0 | 1 | -1 = 1;
    try {
      outcome = classifyCall(ending, settings);
    } finally {
      const slow = isTimed && performance.now() - started > slowCallMs ? 2 : 0;
      const code = outcome === -1 ? -1 : ((outcome + slow) as OutcomeCode);
      // Not awaited: the link reports errors of the store.
      admission.end(code)?.catch(() => {});
    }
    const isRefused = outcome === 1 && fallback !== undefined && ending.how !== "aborted";
    if (isRefused) return fallback(refusalOf(ending));
    if (ending.how === "returned") return ending.result;
    throw ending.error;
  }

  return {
    target: link.name,

    async run<T extends Result>(
      call: (context: CallContext) => T | Promise<T>,
      options: RunOptions<T> = NO_OPTIONS,
    ) {
      requireUsable();
      const timeoutMs = readRunOptions(call, options);
      const { fallback, signal } = options;
      signal?.throwIfAborted();
      const answer = link.answer() ?? (await link.requestTrial());
      if (signal?.aborted) {
        if (answer > 0) link.settle(answer, -1).catch(() => {});
        throw signal.reason;
      }
      if (answer === 0) {
        publishRejected(rejected);
        if (fallback === undefined) throw new HeadgateBreakerOpen(rejected());
        return fallback(new OpenRefusal(rejected()));
      }
      const admission = admit(answer);
      const started = isTimed ? performance.now() : 0;
      return recordOutcome(await makeCall(call, signal, timeoutMs), admission, started, fallback);
    },

    async admit(more?: unknown) {
      requireUsable();
      rejectMore("admit()", more);
      const answer = link.answer() ?? (await link.requestTrial());
      if (answer !== 0) {
        return toPermit(admit(answer), { ...rejected(), retryAfterMs: 0 }, slowCallMs);
      }
      publishRejected(rejected);
      return toPermit(undefined, rejected(), slowCallMs);
    },

    async record(outcome, durationMs, more?: unknown) {
      requireUsable();
      rejectMore("record(outcome, durationMs)", more);
      await link.note(codeOfOutcome(outcome, durationMs, slowCallMs), -1);
    },

    async snapshot(more?: unknown) {
      requireUsable();
      rejectMore("snapshot()", more);
      await link.look();
      return toSnapshot(link.view);
    },

    forceOpen: order("forceOpen", FORCED_OPEN),
    disable: order("disable", DISABLED),
    metricsOnly: order("metricsOnly", METRICS_ONLY),
    reset: order("reset", CLOSED, true),
  };

  /** A method that sets the state by hand. */
  function order(method: string, kind: number, empties = false): () => Promise<void> {
    return async (more?: unknown) => {
      requireUsable();
      rejectMore(`${method}()`, more);
      await link.order(kind, empties);
    };
  }

  function admit(answer: number): Admission {
    return answer === -1 ? admitCall(link) : admitTrial(link, answer, settings);
  }
}
