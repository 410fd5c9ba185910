import { addAbortCallback } from "../common/abort-listeners.ts";
import type { Decision, LimitState } from "../common/decision.ts";
import { isConcurrencyLimit } from "../common/decision.ts";
import { HeadgateError } from "../common/errors.ts";
import type { ListNode } from "../common/linked-list.ts";
import { LinkedList } from "../common/linked-list.ts";
import { MAX_TIMER_MS } from "../common/time.ts";
import type { Denial, EnterOptions, WaiterGroup, WaitQueue } from "./queue.ts";

/** How often a call that waits for a slot tries again: another process may release one. */
const SLOT_POLL_MS = 250;

interface Waiter extends ListNode {
  readonly group: WaiterGroup | undefined;
  readonly attempt: () => Promise<Decision>;
  readonly onRelease: EnterOptions["onRelease"];
  readonly onLimitsChange: EnterOptions["onLimitsChange"];
  /** Whether a denial ends the wait. */
  readonly isFinal: EnterOptions["isFinal"];
  /** Settles the call; later results are ignored. */
  readonly resolve: (decision: Decision) => void;
  readonly reject: (error: unknown) => void;
  settled: boolean;
}

/**
 * Creates a queue for at most `maxQueue` waiting calls. `undoDecision` undoes the decision of a call that ended before it was
 * admitted; `now` is the store's clock. `countWaiting` counts one more waiting call, and may return a function that ends the count.
 */
export function createWaitQueue(
  maxQueue: number,
  undoDecision: (decision: Decision) => Promise<unknown>,
  now: () => number,
  countWaiting: () => (() => void) | undefined = () => undefined,
): WaitQueue {
  const queues = new Map<string, KeyQueue>();
  let waiting = 0;

  class KeyQueue {
    readonly #key: string;
    readonly #waiters = new LinkedList<Waiter>();
    #wake: (() => void) | undefined;
    /** Whether `wake` was called during the attempt in progress, which may have seen the state before it. */
    #isWoken = false;
    lastDenial: Denial | undefined;

    constructor(key: string) {
      this.#key = key;
    }

    /** The number of waiting calls, without a head that ended during its attempt. */
    get size(): number {
      return this.#waiters.size - (this.#waiters.first?.settled ? 1 : 0);
    }

    add(waiter: Waiter): void {
      this.#waiters.add(waiter);
      if (this.#waiters.size === 1) void this.#serve();
    }

    /** Removes a call that ended: at the head it must not hold up the others, and behind it not be kept in memory. */
    remove(waiter: Waiter): void {
      if (this.#waiters.first === waiter) this.#wake?.();
      else this.#waiters.delete(waiter);
    }

    wake(): void {
      this.#isWoken = true;
      this.#wake?.();
    }

    rejectAll(error: HeadgateError, group: WaiterGroup | undefined): void {
      for (const waiter of this.#waiters.items) {
        if (group === undefined || waiter.group === group) waiter.reject(error);
      }
    }

    async #serve(): Promise<void> {
      for (let { first } = this.#waiters; first !== undefined; first = this.#waiters.first) {
        if (!first.settled) await this.#attemptFor(first);
        if (first.settled) this.#waiters.delete(first);
      }
      queues.delete(this.#key);
    }

    async #attemptFor(head: Waiter): Promise<void> {
      try {
        this.#isWoken = false;
        const decision = await head.attempt();
        if (!decision.allowed) this.lastDenial = { decision, receivedAt: now() };
        if (head.settled) {
          if (decision.allowed) await undoDecision(decision);
        } else if (decision.allowed || head.isFinal?.(decision)) head.resolve(decision);
        else if (!this.#isWoken) await this.#sleep(decision, head);
      } catch (error) {
        head.reject(error);
      }
    }

    #sleep(
      { limits, retryAfterMs }: Decision,
      { onRelease, onLimitsChange }: Waiter,
    ): Promise<void> {
      const denials = limits.filter(({ allowed }) => !allowed);
      const isForSlot = onRelease !== undefined && denials.some(isConcurrencyLimit);
      return new Promise((resolve) => {
        const wake = (): void => {
          cancel();
          for (const unsubscribe of unsubscribes) unsubscribe?.();
          resolve();
        };
        const cancel = schedule(isForSlot ? pauseMsFor(denials) : retryAfterMs, wake);
        const unsubscribes = [isForSlot ? onRelease(wake) : undefined, onLimitsChange?.(wake)];
        this.#wake = wake;
      });
    }
  }

  function queueFor(key: string): KeyQueue {
    const known = queues.get(key);
    if (known !== undefined) return known;
    const queue = new KeyQueue(key);
    queues.set(key, queue);
    return queue;
  }

  return {
    enter(
      key,
      attempt,
      { group, timeoutMs, signal, onRelease, onLimitsChange, maxPerKey, denial, isFinal },
    ) {
      if (signal?.aborted) return Promise.reject(signal.reason);
      if (group?.closeError !== undefined) return Promise.reject(group.closeError);
      const isKeyFull = maxPerKey !== undefined && (queues.get(key)?.size ?? 0) >= maxPerKey;
      if (waiting >= maxQueue || isKeyFull) {
        return Promise.reject(
          new HeadgateError("HEADGATE_QUEUE_FULL", `${waiting} calls are waiting already`),
        );
      }
      const queue = queueFor(key);
      queue.lastDenial ??= denial;
      waiting += 1;
      const stopCounting = countWaiting();
      return new Promise<Decision>((resolve, reject) => {
        const settle = (): void => {
          waiter.settled = true;
          waiting -= 1;
          stopCounting?.();
          cancelTimeout();
          removeListener?.();
          queue.remove(waiter);
        };
        const waiter: Waiter = {
          group,
          attempt,
          onRelease,
          onLimitsChange,
          isFinal,
          settled: false,
          previous: undefined,
          next: undefined,
          resolve(decision) {
            if (waiter.settled) return;
            settle();
            resolve(decision);
          },
          reject(error) {
            if (waiter.settled) return;
            settle();
            reject(error);
          },
        };
        const removeListener =
          signal && addAbortCallback(signal, () => waiter.reject(signal.reason));
        const cancelTimeout = schedule(timeoutMs, () =>
          waiter.reject(
            new HeadgateError("HEADGATE_WAIT_TIMEOUT", `not admitted within ${timeoutMs} ms`),
          ),
        );
        queue.add(waiter);
      });
    },

    wake(counterKey) {
      for (const [key, queue] of queues) {
        if (counterKey === undefined || key.split(" ").includes(counterKey)) queue.wake();
      }
    },

    lastDenial: (key) => queues.get(key)?.lastDenial,

    close(error, group) {
      if (group !== undefined) group.closeError = error;
      for (const queue of [...queues.values()]) queue.rejectAll(error, group);
    },
  };
}

/**
 * Milliseconds to wait if a concurrency limit denied: for as long as the other limits deny, otherwise until the next try, because
 * another process may release a slot at any time. A block that ends earlier ends the wait.
 */
function pauseMsFor(denials: readonly LimitState[]): number {
  const longest = (some: readonly LimitState[]): number =>
    Math.max(0, ...some.map(({ retryAfterMs }) => retryAfterMs));
  const pause = Math.min(SLOT_POLL_MS, longest(denials.filter(isConcurrencyLimit)));
  return Math.max(pause, longest(denials.filter((limit) => !isConcurrencyLimit(limit))));
}

/** Calls back after a time of any length; never if it is undefined. Returns a function that cancels it. */
function schedule(ms: number | undefined, callback: () => void): () => void {
  if (ms === undefined) return () => {};
  let timer: NodeJS.Timeout;
  const arm = (left: number): void => {
    const step = Math.min(left, MAX_TIMER_MS);
    timer = setTimeout(() => (left > step ? arm(left - step) : callback()), step);
  };
  arm(ms);
  return () => clearTimeout(timer);
}
