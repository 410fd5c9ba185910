import { shareByClient } from "../common/client-state.ts";
import { HeadgateError } from "../common/errors.ts";
import type { LimiterLabels } from "../common/publish.ts";
import { trackInUse } from "../common/publish.ts";
import type { Counter } from "../operations/counter.ts";
import { costAt, identityOf } from "../operations/counter.ts";
import type { SlotsCall } from "../operations/slots.ts";
import { MAX_HOLDERS } from "../operations/slots.ts";
import type { SubjectCounter } from "../policy/counters.ts";
import { slotCountersOf } from "../policy/counters.ts";
import type { SlotHandle } from "../policy/limiter-decision.ts";
import { newHolder } from "../scripts/digits.ts";
import type { CountingStore } from "../store/store.ts";
import type { RenewedSlot, SlotStore } from "./renewals.ts";
import { Renewals } from "./renewals.ts";

/** What the slots of a limiter share in this process: the store, and the objects that renew them and announce releases. */
export interface SlotKeeper {
  readonly store: SlotStore;
  readonly renewals: Renewals;
  readonly releases: Releases;
  /** The labels of the limiter that the slots belong to. */
  readonly labels: LimiterLabels;
}

/**
 * The slots of one request in all its concurrency limits. They are prepared before the request is sent, count as held from
 * `markGranted`, are renewed from `startRenewing`, and end when they are released, lost (not renewed within their ttl, or gone from
 * the store) or abandoned.
 */
export class HeldSlots implements SlotHandle {
  readonly #keeper: SlotKeeper;
  /** The id under which the store knows the holder of the slots. */
  readonly holder: string;
  readonly #slots: readonly RenewedSlot[];
  #controller: AbortController | undefined;
  /** Why the signal aborted, or will abort once it is read. */
  #reason: HeadgateError | undefined;
  #isReleased = false;
  /** Ends the count of slots in use; undefined if they are not counted. */
  #stopCounting: (() => void) | undefined;

  /** The ttl counts from now, before the request is sent, so that the slots expire here no later than in the store. */
  constructor(keeper: SlotKeeper, counters: readonly SubjectCounter[], holder: string) {
    this.#keeper = keeper;
    this.holder = holder;
    const now = keeper.store.now();
    this.#slots = counters.map((counter) => ({
      store: keeper.store,
      counter,
      holder,
      ttl: counter.group.slotTtl as number,
      expiresAt: now + (counter.group.slotTtl as number),
      shouldRenew: never,
      onLost: () => this.#abortWith(slotLostError()),
    }));
  }

  get signal(): AbortSignal {
    if (this.#controller !== undefined) return this.#controller.signal;
    this.#controller = new AbortController();
    if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    else if (!this.#isReleased) for (const slot of this.#slots) this.#keeper.renewals.add(slot);
    return this.#controller.signal;
  }

  markGranted(): void {
    const units = this.#counters.reduce((sum, counter) => sum + costAt(counter, 0, 1), 0);
    this.#stopCounting = trackInUse("slots", this.#keeper.labels, units);
    if (this.#stopCounting === undefined) return;
    // The renewals notice expired slots, so that these are no longer counted.
    for (const slot of this.#slots) this.#keeper.renewals.add(slot);
  }

  startRenewing(isNeeded: () => boolean = always): void {
    if (this.#isReleased || this.#reason !== undefined) return;
    for (const slot of this.#slots) {
      slot.shouldRenew = isNeeded;
      this.#keeper.renewals.add(slot);
    }
  }

  abandon(): void {
    if (!this.#isReleased) this.#abortWith(clientDisconnectedError());
  }

  async release(): Promise<boolean> {
    if (this.#isReleased) return false;
    this.#isReleased = true;
    this.#stopRenewing();
    const { store, releases } = this.#keeper;
    try {
      const released = await Promise.all(
        this.#slots.map(({ counter }) => store.renewOrRelease(counter, [this.holder], false)),
      );
      return released.flat().includes(true);
    } catch (error) {
      this.#isReleased = false;
      throw error;
    } finally {
      releases.notify(this.#counters);
    }
  }

  get #counters(): readonly Counter[] {
    return this.#slots.map(({ counter }) => counter);
  }

  #abortWith(reason: HeadgateError): void {
    this.#stopRenewing();
    this.#reason ??= reason;
    this.#controller?.abort(this.#reason);
  }

  #stopRenewing(): void {
    for (const slot of this.#slots) this.#keeper.renewals.remove(slot);
    this.#stopCounting?.();
  }
}

const always = (): boolean => true;
const never = (): boolean => false;

function slotLostError(): HeadgateError {
  return new HeadgateError(
    "HEADGATE_SLOT_LOST",
    "this work may have lost its slot: it was not renewed in time, or the store lost it; end the work",
  );
}

function clientDisconnectedError(): HeadgateError {
  return new HeadgateError(
    "HEADGATE_CLIENT_DISCONNECTED",
    "the client disconnected before its request was answered",
  );
}

/** Notifies the calls that wait in this process when a slot is released in it, or units come back. */
export class Releases {
  readonly #callbacks = new Map<string, Set<() => void>>();

  /** Calls back when a counter with one of these identities has room again, until the returned function is called. */
  watch(keys: readonly string[], callback: () => void): () => void {
    for (const key of keys) {
      const callbacks = this.#callbacks.get(key) ?? new Set();
      this.#callbacks.set(key, callbacks.add(callback));
    }
    return () => {
      for (const key of keys) {
        const callbacks = this.#callbacks.get(key);
        callbacks?.delete(callback);
        if (callbacks?.size === 0) this.#callbacks.delete(key);
      }
    };
  }

  notify(counters: readonly Counter[]): void {
    for (const counter of counters) {
      for (const callback of [...(this.#callbacks.get(identityOf(counter)) ?? [])]) callback();
    }
  }
}

/** Sends a call about the slots of a counter to the store. Rejects with the store's errors. */
type RunSlotsCall = (call: SlotsCall, counterKey: string) => Promise<readonly boolean[]>;

/** The renewals of the slots held in a store. */
const renewalsOf = shareByClient("renewals", () => new Renewals());

/**
 * Creates the keeper of the slots that a limiter takes in a store. `owner` is the owner of the counters, by which waiting calls
 * find the releases.
 */
export function createSlotKeeper(
  store: CountingStore,
  run: RunSlotsCall,
  labels: LimiterLabels,
  owner: object = store.owner,
): SlotKeeper {
  async function renewOrRelease(
    counter: Counter,
    holders: readonly string[],
    renews: boolean,
  ): Promise<readonly boolean[]> {
    const calls: SlotsCall[] = [];
    for (let at = 0; at < holders.length; at += MAX_HOLDERS) {
      calls.push({ counters: [counter], holders: holders.slice(at, at + MAX_HOLDERS), renews });
    }
    return (await Promise.all(calls.map((call) => run(call, counter.key)))).flat();
  }

  return {
    store: { now: () => store.now(), renewOrRelease },
    renewals: renewalsOf(store),
    releases: releasesOf(owner),
    labels,
  };
}

/** Prepares the slots that a request needs; undefined if none of its counters is a concurrency counter. */
export function prepareSlots(
  keeper: SlotKeeper,
  counters: readonly SubjectCounter[],
): HeldSlots | undefined {
  const slotCounters = slotCountersOf(counters);
  return slotCounters.length === 0 ? undefined : new HeldSlots(keeper, slotCounters, newHolder());
}

/** The releases of slots in this process, by the owner of their counters. */
export const releasesOf: (owner: object) => Releases = shareByClient(
  "releases",
  () => new Releases(),
);

/** The units that come back in this process before their time, by a refund, a reset or the end of a block. */
export const refundsOf: (owner: object) => Releases = shareByClient(
  "refunds",
  () => new Releases(),
);
