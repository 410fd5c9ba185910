import { onceAborted } from "../common/abort-listeners.ts";
import type { Decision, LimitState } from "../common/decision.ts";
import { isOfSlots } from "../common/decision.ts";
import { HeadgateError } from "../common/errors.ts";
import { LONGEST_TIMER_MS } from "../common/time.ts";
import type { Waiting } from "../common/waiting-list.ts";
import { WaitingList } from "../common/waiting-list.ts";
import type { Denial, Waiters, WaitOptions, WaitQueue } from "./line.ts";

/** How often a call that waits for a slot asks again: another process may release one. */
const ASK_AGAIN_MS = 250;

interface Waiter extends Waiting {
  readonly among: Waiters | undefined;
  readonly attempt: () => Promise<Decision>;
  readonly onFreed: WaitOptions["onFreed"];
  readonly onChange: WaitOptions["onChange"];
  /** Whether a denial is the call's answer. */
  readonly isAnswer: WaitOptions["isAnswer"];
  /** Settles the call; later results are ignored. */
  readonly resolve: (decision: Decision) => void;
  readonly reject: (error: unknown) => void;
  settled: boolean;
}

/**
 * `giveBack` returns the charge of a call that had left by the time it was admitted; `now` is the store's clock. `noteWaiting`
 * counts one more waiting call, and may return a function that stops counting it.
 */
export function createWaitQueue(
  maxQueue: number,
  giveBack: (decision: Decision) => Promise<unknown>,
  now: () => number,
  noteWaiting: () => (() => void) | undefined = () => undefined,
): WaitQueue {
  const lines = new Map<string, Line>();
  let waiting = 0;

  class Line {
    readonly #key: string;
    readonly #waiters = new WaitingList<Waiter>();
    #wake: (() => void) | undefined;
    /** Whether the attempt in progress may be based on the state before the wake-up. */
    #isWoken = false;
    lastDenial: Denial | undefined;

    constructor(key: string) {
      this.#key = key;
    }

    /** How many wait, without calls that left during an attempt made for them. */
    get size(): number {
      return this.#waiters.size - (this.#waiters.first?.settled ? 1 : 0);
    }

    add(waiter: Waiter): void {
      this.#waiters.add(waiter);
      if (this.#waiters.size === 1) void this.#serve();
    }

    /** A call that gave up must neither hold up the others, at the head, nor be retained behind it. */
    leave(waiter: Waiter): void {
      if (this.#waiters.first === waiter) this.#wake?.();
      else this.#waiters.delete(waiter);
    }

    wake(): void {
      this.#isWoken = true;
      this.#wake?.();
    }

    rejectAll(error: HeadgateError, of: Waiters | undefined): void {
      for (const waiter of this.#waiters.all) {
        if (of === undefined || waiter.among === of) waiter.reject(error);
      }
    }

    async #serve(): Promise<void> {
      for (let { first } = this.#waiters; first !== undefined; first = this.#waiters.first) {
        if (!first.settled) await this.#try(first);
        if (first.settled) this.#waiters.delete(first);
      }
      lines.delete(this.#key);
    }

    async #try(head: Waiter): Promise<void> {
      try {
        this.#isWoken = false;
        const decision = await head.attempt();
        if (!decision.allowed) this.lastDenial = { decision, at: now() };
        if (head.settled) {
          if (decision.allowed) await giveBack(decision);
        } else if (decision.allowed || head.isAnswer?.(decision)) head.resolve(decision);
        else if (!this.#isWoken) await this.#sleep(decision, head);
      } catch (error) {
        head.reject(error);
      }
    }

    #sleep({ limits, retryAfterMs }: Decision, { onFreed, onChange }: Waiter): Promise<void> {
      const denials = limits.filter(({ allowed }) => !allowed);
      const isForPlace = onFreed !== undefined && denials.some(isOfSlots);
      return new Promise((resolve) => {
        const wake = (): void => {
          cancel();
          for (const forget of forgets) forget?.();
          resolve();
        };
        const cancel = schedule(isForPlace ? pauseFor(denials) : retryAfterMs, wake);
        const forgets = [isForPlace ? onFreed(wake) : undefined, onChange?.(wake)];
        this.#wake = wake;
      });
    }
  }

  function lineOf(key: string): Line {
    const known = lines.get(key);
    if (known !== undefined) return known;
    const line = new Line(key);
    lines.set(key, line);
    return line;
  }

  return {
    enter(
      key,
      attempt,
      { waiters, timeoutMs, signal, onFreed, onChange, maxLine, denial, isAnswer },
    ) {
      if (signal?.aborted) return Promise.reject(signal.reason);
      if (waiters?.ended !== undefined) return Promise.reject(waiters.ended);
      const isLineFull = maxLine !== undefined && (lines.get(key)?.size ?? 0) >= maxLine;
      if (waiting >= maxQueue || isLineFull) {
        return Promise.reject(
          new HeadgateError("HEADGATE_QUEUE_FULL", `${waiting} calls are waiting already`),
        );
      }
      const line = lineOf(key);
      line.lastDenial ??= denial;
      waiting += 1;
      const noteOver = noteWaiting();
      return new Promise<Decision>((resolve, reject) => {
        const settle = (): void => {
          waiter.settled = true;
          waiting -= 1;
          noteOver?.();
          cancelTimeout();
          forgetSignal?.();
          line.leave(waiter);
        };
        const waiter: Waiter = {
          among: waiters,
          attempt,
          onFreed,
          onChange,
          isAnswer,
          settled: false,
          before: undefined,
          after: undefined,
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
        const forgetSignal = signal && onceAborted(signal, () => waiter.reject(signal.reason));
        const cancelTimeout = schedule(timeoutMs, () =>
          waiter.reject(
            new HeadgateError("HEADGATE_WAIT_TIMEOUT", `not admitted within ${timeoutMs} ms`),
          ),
        );
        line.add(waiter);
      });
    },

    wake(key) {
      for (const [name, line] of lines) {
        if (key === undefined || name.split(" ").includes(key)) line.wake();
      }
    },

    lastDenial: (key) => lines.get(key)?.lastDenial,

    close(error, waiters) {
      if (waiters !== undefined) waiters.ended = error;
      for (const line of [...lines.values()]) line.rejectAll(error, waiters);
    },
  };
}

/**
 * Milliseconds to wait if a concurrency limit denied: as long as the other limits deny, and no longer than a block of the slots
 * lasts. When a slot comes free is unpredictable.
 */
function pauseFor(denials: readonly LimitState[]): number {
  const longest = (some: readonly LimitState[]): number =>
    Math.max(0, ...some.map(({ retryAfterMs }) => retryAfterMs));
  const pause = Math.min(ASK_AGAIN_MS, longest(denials.filter(isOfSlots)));
  return Math.max(pause, longest(denials.filter((limit) => !isOfSlots(limit))));
}

/** Calls back after a time of any length; never if it is undefined. Returns a function that cancels it. */
function schedule(ms: number | undefined, callback: () => void): () => void {
  if (ms === undefined) return () => {};
  let timer: NodeJS.Timeout;
  const arm = (left: number): void => {
    const step = Math.min(left, LONGEST_TIMER_MS);
    timer = setTimeout(() => (left > step ? arm(left - step) : callback()), step);
  };
  arm(ms);
  return () => clearTimeout(timer);
}
