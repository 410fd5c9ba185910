import type { Decision, LimitState } from "../common/decision.ts";
import { isConcurrencyLimit } from "../common/decision.ts";
import type { HeadgateError } from "../common/errors.ts";
import type { ListNode } from "../common/linked-list.ts";
import { LinkedList } from "../common/linked-list.ts";
import { MAX_TIMER_MS } from "../common/time.ts";
import { AttemptWindow, callsThatFit } from "./attempt-window.ts";
import type { Attempt, CallKind, Denial, EnterOptions, QueuedCall, WaiterGroup } from "./queue.ts";

/** How often a call that waits for a slot tries again, in milliseconds: another process may release one. */
const SLOT_POLL_MS = 250;

/** The longest sleep after a degraded denial, in milliseconds: the store may be back. Meanwhile an attempt makes no call to it. */
const DEGRADED_POLL_MS = 1_000;

export interface Waiter extends ListNode {
  readonly call: QueuedCall;
  readonly group: WaiterGroup | undefined;
  readonly endsWait: EnterOptions["endsWait"];
  /** Ends the wait and removes the call from its queue. */
  resolve(attempt: Attempt): void;
  reject(error: unknown): void;
}

/** What the queues of all keys share. */
export interface KeyQueueDeps {
  /** Refunds the charge of a decision that no call needs any more, and releases its slots. */
  readonly undoDecision: (decision: Decision) => Promise<unknown>;
  /** The store's clock, in microseconds. */
  readonly now: () => number;
  /** The longest sleep, in milliseconds: another process may refund units, or end a block, at any time. */
  readonly longestSleepMs: number;
  /** Counts an attempt as in progress until its promise settles. */
  readonly track: (attempt: Promise<void>) => Promise<void>;
}

/** The time in which the calls of a queue make no attempts, because the limits have no room. */
interface Sleep {
  readonly isForSlot: boolean;
  /** Stops the timer, and the watch on the limits. */
  cancel(): void;
}

/**
 * The calls with one key. They are admitted first come, first served, with several attempts in flight: attempts of calls of the
 * same kind are interchangeable, so one that is allowed admits the call in front. Only calls of the same kind as the one in front
 * are attempted. While any call waits, an attempt is in flight or the queue sleeps.
 */
export class KeyQueue {
  readonly #deps: KeyQueueDeps;
  readonly #onEmpty: () => void;
  readonly #waiters = new LinkedList<Waiter>();
  readonly #window = new AttemptWindow();
  /** The kind of calls that the window is about. */
  #kind: CallKind | undefined;
  #inFlight = 0;
  /** How many attempts were started; the number of an attempt is its place among them. */
  #started = 0;
  /** Denials of attempts up to this number are outdated: a later one was answered, or the queue was woken since. */
  #outdated = 0;
  #sleep: Sleep | undefined;
  /** The last denial, even if calls have been admitted since. */
  lastDenial: Denial | undefined;
  #stopWatchingReleases: (() => void) | undefined;
  #stopWatchingRefunds: (() => void) | undefined;

  /** `onEmpty` is called when no call waits and no attempt is in flight. */
  constructor(deps: KeyQueueDeps, onEmpty: () => void) {
    this.#deps = deps;
    this.#onEmpty = onEmpty;
  }

  get size(): number {
    return this.#waiters.size;
  }

  /** `denial` is that of an attempt outside of the queue. */
  add(waiter: Waiter, denial: Denial | undefined): void {
    if (denial !== undefined) {
      this.lastDenial = denial;
      this.#window.forget();
    }
    if (this.#stopWatchingReleases === undefined) this.#watchReleases(waiter.call);
    this.#stopWatchingRefunds ??= waiter.call.onRefund?.(() => this.wake());
    this.#waiters.add(waiter);
    this.#attemptAll();
  }

  /** Removes a call that has ended. If it was in front, a call of another kind behind it need not sleep. */
  remove(waiter: Waiter): void {
    const wasFirst = this.#waiters.first === waiter;
    this.#waiters.delete(waiter);
    if (!wasFirst || this.#sleep === undefined) return;
    const { first } = this.#waiters;
    if (first === undefined || !isSameKind(first.call.kind, waiter.call.kind)) this.#wakeSoon();
  }

  /** Makes an attempt now, because the limits may have room. */
  wake(): void {
    this.#outdated = this.#started;
    this.#wakeSoon();
  }

  rejectAll(error: HeadgateError, group: WaiterGroup | undefined): void {
    for (const waiter of this.#waiters.items) {
      if (group === undefined || waiter.group === group) waiter.reject(error);
    }
  }

  /** Starts as many attempts as calls in front are of one kind, and as the window allows. */
  #attemptAll(): void {
    const { first } = this.#waiters;
    if (first === undefined) {
      this.#stopSleeping();
      if (this.#inFlight === 0) this.#end();
      return;
    }
    if (this.#sleep !== undefined) return;
    const { kind } = first.call;
    if (this.#kind === undefined || !isSameKind(kind, this.#kind)) {
      this.#kind = kind;
      this.#window.forget();
    }
    const { size } = this.#window;
    if (this.#inFlight >= size) return;
    const calls = this.#waiters.countFirst(size, ({ call }) => isSameKind(call.kind, kind));
    while (this.#inFlight < calls) void this.#deps.track(this.#attempt(first.call));
  }

  async #attempt(call: QueuedCall): Promise<void> {
    this.#started += 1;
    this.#inFlight += 1;
    const number = this.#started;
    const startedAt = performance.now();
    try {
      const attempt = await call.attempt();
      if (!attempt.decision.allowed) this.#onDenied(call, attempt, number, startedAt);
      else if (!this.#admit(call, attempt, number)) await this.#undo(attempt);
    } catch (error) {
      this.#window.forget();
      this.#firstOf(call.kind)?.reject(error);
    }
    this.#inFlight -= 1;
    this.#attemptAll();
  }

  /** Admits the call in front; false if no call of this kind is left. */
  #admit({ kind }: QueuedCall, attempt: Attempt, number: number): boolean {
    this.#outdated = Math.max(this.#outdated, number);
    this.#stopSleeping();
    if (this.#kind !== undefined && isSameKind(kind, this.#kind)) {
      this.#window.onAllowed(callsThatFit(attempt.decision));
    }
    const waiter = this.#firstOf(kind);
    if (waiter === undefined) return false;
    // Queues that share a slot take turns, because the next release wakes the others first.
    this.#watchReleases(waiter.call);
    waiter.resolve(attempt);
    return true;
  }

  async #undo({ decision }: Attempt): Promise<void> {
    // No caller is left to receive an error.
    await this.#deps.undoDecision(decision).catch(() => {});
    this.wake();
  }

  #onDenied(call: QueuedCall, attempt: Attempt, number: number, startedAt: number): void {
    const { decision } = attempt;
    if (number <= this.#outdated) return;
    this.#outdated = number;
    this.lastDenial = { decision, receivedAt: this.#deps.now() };
    const waiter = this.#firstOf(call.kind);
    if (waiter === undefined || this.#sleep !== undefined) return;
    this.#window.onDenied();
    if (waiter.endsWait?.(attempt)) waiter.resolve(attempt);
    else this.#sleepAfter(call, attempt, startedAt);
  }

  /**
   * Sleeps until the limits may have room. The time counts from when the attempt was started: the next one takes as long to reach
   * the store as this one did.
   */
  #sleepAfter(call: QueuedCall, { decision, counters }: Attempt, startedAt: number): void {
    const denials = decision.limits.filter(({ allowed }) => !allowed);
    const isForSlot = call.onRelease !== undefined && denials.some(isConcurrencyLimit);
    const pauseMs = isForSlot ? slotPauseMs(denials) : decision.retryAfterMs;
    const longestMs = decision.degraded ? DEGRADED_POLL_MS : this.#deps.longestSleepMs;
    const sleepMs = Math.min(longestMs, pauseMs);
    const cancelTimer = callAt(startedAt + sleepMs, () => {
      this.#stopSleeping();
      this.#attemptAll();
    });
    const stopWatchingLimits = call.onLimitsChange?.(counters, () => this.wake());
    this.#sleep = {
      isForSlot,
      cancel() {
        cancelTimer();
        stopWatchingLimits?.();
      },
    };
  }

  /** Watches the releases of slots. The queue that began to watch last is woken last. */
  #watchReleases(call: QueuedCall): void {
    this.#stopWatchingReleases?.();
    this.#stopWatchingReleases = call.onRelease?.(() => this.#onRelease());
  }

  #onRelease(): void {
    // Another limit denies for longer.
    if (this.#sleep?.isForSlot === false) return;
    this.#window.onRelease(this.#inFlight);
    this.wake();
  }

  #stopSleeping(): void {
    this.#sleep?.cancel();
    this.#sleep = undefined;
  }

  /** In a microtask, because several calls may be about to end at the same time. */
  #wakeSoon(): void {
    this.#stopSleeping();
    queueMicrotask(() => this.#attemptAll());
  }

  #end(): void {
    this.#stopWatchingReleases?.();
    this.#stopWatchingReleases = undefined;
    this.#stopWatchingRefunds?.();
    this.#stopWatchingRefunds = undefined;
    this.#onEmpty();
  }

  /** The call in front, if it is of this kind. */
  #firstOf(kind: CallKind): Waiter | undefined {
    const { first } = this.#waiters;
    return first !== undefined && isSameKind(first.call.kind, kind) ? first : undefined;
  }
}

function isSameKind(a: CallKind, b: CallKind): boolean {
  return a.policy === b.policy && a.cost === b.cost;
}

/**
 * Milliseconds to wait if a concurrency limit denied: for as long as the other limits deny, otherwise until the next try, because
 * another process may release a slot at any time. A block that ends earlier ends the wait.
 */
function slotPauseMs(denials: readonly LimitState[]): number {
  const longest = (some: readonly LimitState[]): number =>
    Math.max(0, ...some.map(({ retryAfterMs }) => retryAfterMs));
  const pause = Math.min(SLOT_POLL_MS, longest(denials.filter(isConcurrencyLimit)));
  return Math.max(pause, longest(denials.filter((limit) => !isConcurrencyLimit(limit))));
}

/**
 * Calls back at a time of `performance.now()`, however far ahead, and never before it, as `setTimeout` may. Returns a function that
 * cancels it.
 */
export function callAt(time: number, callback: () => void): () => void {
  let timer: NodeJS.Timeout;
  const arm = (): void => {
    // Node warns of a negative delay, as that to a time that has passed.
    const left = Math.max(0, Math.ceil(time - performance.now()));
    timer = setTimeout(onTimer, Math.min(left, MAX_TIMER_MS));
  };
  const onTimer = (): void => {
    if (performance.now() < time) arm();
    else callback();
  };
  arm();
  return () => clearTimeout(timer);
}
