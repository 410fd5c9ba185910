import { addAbortCallback } from "../common/abort-listeners.ts";
import type { Decision } from "../common/decision.ts";
import { formatKind, formatNumber, HeadgateError, invalidValue } from "../common/errors.ts";
import { rejectExtraArgument, rejectUnknownOptions } from "../common/options.ts";
import { trackInUse } from "../common/publish.ts";
import type { Duration } from "../common/time.ts";
import { parseDuration, toMilliseconds } from "../common/time.ts";
import { identityOf } from "../operations/counter.ts";
import { createDecisionRequest } from "../pipeline/decision-request.ts";
import type { CompiledPolicy, LimitGroup } from "../policy/compiled-policy.ts";
import { assignCosts } from "../policy/costs.ts";
import type { SubjectCounter, Subjects } from "../policy/counters.ts";
import { isShadowDecision } from "../policy/counters.ts";
import type { SlotHandle } from "../policy/limiter-decision.ts";
import { slotsOf } from "../policy/limiter-decision.ts";
import { decideOrWait } from "../queue/decide-or-wait.ts";
import { ageDenial, findImpossibleCost, rejectImpossibleCost } from "../queue/denials.ts";
import type {
  Denial,
  QueuedCall,
  QueuedDecision,
  QueueWaitOptions,
  WaiterGroup,
  WaitQueue,
} from "../queue/queue.ts";
import { costKeyOf, createWaitQueue, queueKeyOf } from "../queue/wait-queue.ts";
import { refundsOf, releasesOf } from "../slots/held-slots.ts";
import type { ConsumeMethods } from "./consume.ts";
import { readCost, readSubject } from "./consume.ts";
import type { ConsumeOptions, Limiter, RunContext, RunOptions, WaitOptions } from "./limiter.ts";
import type { LimiterCore, LimiterInternals } from "./limiter-internals.ts";
import { countedSubjects, decisions, publishLimiterDecision } from "./published-decision.ts";

/**
 * The methods of a limiter that queue calls and requests, and run admitted work. `group` is the group of this limiter's waiters,
 * among all in the queue.
 */
export function createWaitMethods(
  core: LimiterCore,
  { consumeInMode, policyOf, countersOf }: ConsumeMethods,
  { queue, maxPerKey, undoDecision }: LimiterQueue,
  group: WaiterGroup,
): Pick<Limiter, "wait" | "run"> & Pick<LimiterInternals, "consumeOrWait"> {
  const { policy: ownPolicy, pipeline, monitor, control, usage } = core;

  /**
   * A call that waits for these counters. Its attempts set no block. It is woken by a slot released or units refunded in this
   * process, and by an override.
   */
  function queuedCall(
    callPolicy: CompiledPolicy,
    counters: readonly SubjectCounter[],
    cost: number,
  ): QueuedCall {
    const policy = decidingPolicy(callPolicy);
    const releases = policy.hasSlots ? releasesOf(ownPolicy.store.owner) : undefined;
    return {
      key: queueKeyOf(counters),
      kind: { policy: callPolicy, cost: costKeyOf(counters, cost) },
      onRelease: releases && ((wake) => releases.watch(counters.map(identityOf), wake)),
      onRefund: (wake) => refundsOf(ownPolicy.store.owner).watch(counters.map(identityOf), wake),
      onLimitsChange:
        control && ((decided, wake) => control.onLimitsChange(counters, policy, decided, wake)),
      async attempt(usedTimeoutMs = 0) {
        const startedAt = decisions.hasSubscribers ? performance.now() : undefined;
        const refreshed = refreshControl();
        const usedMs = refreshed === undefined ? usedTimeoutMs : usedTimeoutMs + (await refreshed);
        const effective = control?.override(counters, policy) ?? counters;
        const decision = await pipeline.decide(
          createDecisionRequest(policy, effective, cost, "charge", usedMs),
        );
        const durationMs = startedAt && performance.now() - startedAt;
        return { decision, counters: effective, durationMs };
      },
    };
  }

  /** Reads the control record if it is due. Resolves with how long that took, in milliseconds: it is part of `storeTimeout`. */
  function refreshControl(): Promise<number> | undefined {
    const startedAt = monitor?.now() ?? 0;
    return control?.refresh()?.then(() => (monitor?.now() ?? 0) - startedAt);
  }

  /** The policy that decides: the limiter's own if the call's policy only has other numbers. */
  function decidingPolicy(callPolicy: CompiledPolicy): CompiledPolicy {
    return callPolicy.perCallKeyspace === undefined ? ownPolicy : callPolicy;
  }

  async function wait(given: Subjects, options: WaitOptions = {}): Promise<Decision> {
    rejectUnknownOptions("wait", options, WAIT_OPTIONS, upToHint);
    const { signal, limits } = options;
    const subject = readSubject(ownPolicy, given, options);
    const callPolicy = policyOf(limits);
    const units = readCost(core, options.cost, callPolicy);
    const { counters, cost } = assignCosts(countersOf(callPolicy, subject), units);
    requireSignal(signal);
    // The control record may have to be read first. That time counts as part of the wait, and of its timeout.
    const isKnown = control?.refresh() === undefined;
    const effectiveCounters = control?.override(counters, callPolicy) ?? counters;
    const isInShadow = isKnown && isShadowDecision(ownPolicy, effectiveCounters);
    if (isKnown && !isInShadow) rejectImpossibleCost(effectiveCounters, cost);
    const timeoutMs = readTimeout(options.timeout);
    if (isInShadow) {
      signal?.throwIfAborted();
      return consumeInMode("charge", subject, { cost: units, limits });
    }
    const { decision, durationMs } = await queue.enter(queuedCall(callPolicy, counters, cost), {
      group,
      timeoutMs,
      signal,
      endsWait(denied) {
        rejectImpossibleCost(denied.counters, cost);
        return false;
      },
    });
    // Only the attempt that admitted the call is published.
    if (durationMs !== undefined) publishLimiterDecision(core, subject, decision, durationMs);
    usage?.record(countedSubjects({ groups: ownPolicy.groups, subjects: subject }), decision);
    return decision;
  }

  async function consumeOrWait(
    groups: readonly LimitGroup[],
    subject: Subjects,
    options: ConsumeOptions = {},
    turn: QueueWaitOptions,
  ): Promise<QueuedDecision | undefined> {
    const callPolicy = policyOf(options.limits);
    const { counters, cost } = assignCosts(
      countersOf(callPolicy, subject, groups),
      readCost(core, options.cost, callPolicy, true),
    );
    const call = queuedCall(callPolicy, counters, cost);
    let { usedTimeoutMs = 0 } = turn;
    const refreshed = refreshControl();
    if (refreshed !== undefined) usedTimeoutMs += await refreshed;
    const effectiveCounters = control?.override(counters, callPolicy) ?? counters;
    if (
      isShadowDecision(ownPolicy, effectiveCounters) ||
      findImpossibleCost(effectiveCounters, cost) !== undefined
    ) {
      const { decision } = await call.attempt(usedTimeoutMs);
      return { decision, waitedMs: undefined };
    }
    const { now } = ownPolicy.store;
    const by = decidingPolicy(callPolicy);
    const adaptDenial = (denial: Denial) => ageDenial(by, denial, counters, cost, now());
    const queueing = { group, maxPerKey, undoDecision, adaptDenial, now };
    return decideOrWait(queue, call, queueing, { ...turn, usedTimeoutMs });
  }

  /** Decides once, without waiting or setting a block. Rejects with `HEADGATE_DENIED`. */
  async function admitNow(
    subject: Subjects,
    { signal, ...options }: Omit<WaitOptions, "timeout">,
  ): Promise<Decision> {
    requireSignal(signal);
    signal?.throwIfAborted();
    const decision = await consumeInMode("charge", subject, options);
    if (decision.allowed) return decision;
    throw new HeadgateError(
      "HEADGATE_DENIED",
      "denied, and a timeout of 0 leaves no time to wait",
      { cause: decision },
    );
  }

  return {
    wait,

    async run(subject, work, options: RunOptions = {}, more?: unknown) {
      rejectUnknownOptions("run", options, WAIT_OPTIONS, upToHint);
      rejectExtraArgument("run(subject, work, options)", more);
      requireWork(work);
      const { timeout, ...waiting } = options;
      const decision =
        timeout === 0
          ? await admitNow(subject, waiting)
          : await wait(subject, { ...waiting, timeout });
      return runAdmitted(decision, slotsOf(decision, ownPolicy), options.signal, work);
    },

    consumeOrWait,
  };
}

/** Runs admitted work. Its slots are renewed meanwhile, and released at the end; if the store does not answer, they expire. */
async function runAdmitted<T>(
  decision: Decision,
  slots: SlotHandle | undefined,
  signal: AbortSignal | undefined,
  work: (admitted: RunContext) => T | Promise<T>,
): Promise<T> {
  const abort = new AbortController();
  const stopFollowing = [slots?.signal, signal].map((one) => one && follow(one, abort));
  slots?.startRenewing();
  try {
    return await work({ signal: abort.signal, decision });
  } finally {
    for (const stop of stopFollowing) stop?.();
    await slots?.release().catch(() => {});
  }
}

/** What is left has to be taken at once: by the end of a wait it would usually be one unit. */
const upToHint = () => ({ upTo: "consume(subject, { upTo }), which does not wait" });

const WAIT_OPTIONS = ["cost", "limits", "ignoreUnknownDimensions", "timeout", "signal"] as const;

function readTimeout(timeout: Duration | undefined): number | undefined {
  if (timeout === undefined) return undefined;
  return toMilliseconds(parseDuration(timeout, "timeout", "HEADGATE_INVALID_OPTION", formatNumber));
}

function requireSignal(signal: unknown): void {
  if (signal === undefined || signal instanceof AbortSignal) return;
  throw invalidValue("signal must be an AbortSignal", signal);
}

function requireWork(work: unknown): void {
  if (typeof work === "function") return;
  throw invalidValue("run takes a function to run", work, formatKind);
}

/** Aborts when a signal does, until the returned function is called. */
function follow(signal: AbortSignal, abort: AbortController): () => void {
  if (signal.aborted) abort.abort(signal.reason);
  return addAbortCallback(signal, () => abort.abort(signal.reason));
}

/**
 * The most HTTP requests that wait for one subject. No more than half of `maxQueue` is used, so that one client leaves room for
 * others.
 */
const MAX_PER_KEY = 100;

/**
 * How long a line sleeps at most on a store that other processes use, in milliseconds. A cached denial may answer its next attempt,
 * so it notices within five seconds.
 */
const SHARED_POLL_MS = 4_000;

/** The queue of a limiter, in which calls and requests wait. */
export interface LimiterQueue {
  readonly queue: WaitQueue;
  /** How many HTTP requests may wait under one key of the queue. */
  readonly maxPerKey: number;
  /** Refunds a decision's charge, and releases its slots. */
  undoDecision(decision: Decision): Promise<unknown>;
}

/** The queue of a limiter, for at most `maxQueue` calls at once. Operators' changes wake it. */
export function createLimiterQueue(
  { policy, control, monitor, inFlight }: LimiterCore,
  { refund }: Pick<Limiter, "refund">,
  maxQueue: number,
): LimiterQueue {
  async function refundAndRelease(decision: Decision): Promise<void> {
    const slots = slotsOf(decision, policy);
    await Promise.all([refund(decision), slots?.release().catch(() => false)]);
  }

  const undoDecision = (decision: Decision) => inFlight.track(refundAndRelease(decision));
  const queue = createWaitQueue(maxQueue, {
    undoDecision,
    now: policy.store.now,
    longestSleepMs: monitor === undefined ? Number.POSITIVE_INFINITY : SHARED_POLL_MS,
    track: (attempt) => inFlight.track(attempt),
    countWaiting: () => trackInUse("waiting", policy.labels),
  });
  control?.onInvalidation(queue.wake);
  return { queue, maxPerKey: Math.min(MAX_PER_KEY, Math.ceil(maxQueue / 2)), undoDecision };
}
