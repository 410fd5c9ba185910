import type { Decision } from "../common/decision.ts";
import type { HeadgateError } from "../common/errors.ts";
import type { CompiledPolicy } from "../policy/compiled-policy.ts";
import type { SubjectCounter } from "../policy/counters.ts";

/** Calls that wait for admission. Calls with the same key form a queue of their own: first come, first served. */
export interface WaitQueue {
  /**
   * Waits in the queue of the call's key, and resolves with the attempt that admitted the call, or with the denial that ended its
   * wait. Rejects with `HEADGATE_QUEUE_FULL`, `HEADGATE_WAIT_TIMEOUT`, the signal's reason, and the errors of an attempt.
   */
  enter(call: QueuedCall, options: EnterOptions): Promise<Attempt>;
  /** Makes the calls that wait for a counter, by the counter's identity, try again now; without one, all calls. */
  wake(identity?: string): void;
  /** The last denial in the queue of a key; undefined if no denied call waits in it. */
  lastDenial(key: string): Denial | undefined;
  /** Rejects the calls of a group, those waiting and all later ones. Without a group, rejects all waiting calls. */
  close(error: HeadgateError, group?: WaiterGroup): void;
}

/** The waiting calls of one limiter, among several that share a queue. */
export interface WaiterGroup {
  /** The error with which calls of the group are rejected since it was closed. */
  closeError: HeadgateError | undefined;
}

/** A call that can wait, and how it is attempted. */
export interface QueuedCall {
  /** The key of its queue: equal for calls with the same counters. */
  readonly key: string;
  readonly kind: CallKind;
  /** `usedTimeoutMs` of the store's timeout, in milliseconds, have passed already; 0 by default. */
  attempt(usedTimeoutMs?: number): Promise<Attempt>;
  /** Calls back when a slot that the call needs is released, until the returned function is called. */
  readonly onRelease?: ((wake: () => void) => () => void) | undefined;
  /** Calls back when units that the call waits for come back in this process, until the returned function is called. */
  readonly onRefund?: ((wake: () => void) => () => void) | undefined;
  /**
   * Calls back when the limits are no longer those that were decided on, so that the denial no longer applies, until the returned
   * function is called.
   */
  readonly onLimitsChange?:
    | ((decided: readonly SubjectCounter[], wake: () => void) => () => void)
    | undefined;
}

/** Calls of the same kind in one queue are interchangeable: an allowed attempt of one admits any of them. */
export interface CallKind {
  readonly policy: CompiledPolicy;
  /** The cost; a cost by name as text. */
  readonly cost: number | string;
}

/** An attempt that the store, or its replacement, has answered. */
export interface Attempt {
  readonly decision: Decision;
  /** The counters that were decided on, with the overrides in force. */
  readonly counters: readonly SubjectCounter[];
  /** How long the attempt took, in milliseconds; undefined if the channel of decisions has no subscribers. */
  readonly durationMs: number | undefined;
}

/** How a call waits. */
export interface EnterOptions {
  /** The group of the call. */
  readonly group?: WaiterGroup | undefined;
  /** The longest wait, in milliseconds. Default: no limit. */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** The maximum number of calls with the same key, including this one. Default: no limit. */
  readonly maxPerKey?: number | undefined;
  /** The denial that the call received just before it entered the queue. Default: none. */
  readonly denial?: Denial | undefined;
  /** Whether a denied attempt ends the wait. Throws the error with which it ends. Default: none does. */
  readonly endsWait?: ((denied: Attempt) => boolean) | undefined;
  /** Called when the call is rejected after it entered, with the last denial in its queue. */
  readonly onRejected?: ((lastDenial: Denial | undefined) => void) | undefined;
}

/** A denial, and when it was made. */
export interface Denial {
  readonly decision: Decision;
  /** When the denial was received, in microseconds of `store.now()`. */
  readonly receivedAt: number;
}

/** Watches whether the client of a waiting request disconnects. */
export interface DisconnectWatch {
  /** Aborts when the wait must end: the client has disconnected, or no request may wait any more. */
  readonly signal: AbortSignal;
  /** Whether the client has disconnected; it may be known before the signal aborts. */
  isDisconnected(): boolean;
  stop(): void;
}

/** How a request waits that gets a decision in any case. */
export interface QueueWaitOptions {
  /** The longest wait, in milliseconds. */
  readonly timeoutMs: number;
  /** How much of the store's timeout the request has spent before, in milliseconds. Default 0. */
  readonly usedTimeoutMs?: number | undefined;
  /** Called when the request begins to wait, and not before. */
  watchDisconnect(): DisconnectWatch;
}

/** The decision on a request that may have waited. */
export interface QueuedDecision {
  readonly decision: Decision;
  /** How long the request waited, in milliseconds with fractions; undefined if it did not wait. */
  readonly waitedMs: number | undefined;
}
