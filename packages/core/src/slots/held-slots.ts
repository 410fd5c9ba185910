import { HeadgateError } from "../common/errors.ts";
import { trackInUse } from "../common/in-use-count.ts";
import type { LimiterLabels } from "../common/limiter-labels.ts";
import type { Counter } from "../operations/counter.ts";
import { costAt } from "../operations/counter.ts";
import type { SubjectCounter } from "../policy/counters.ts";
import type { SlotHandle, SlotStore } from "../policy/slot.ts";
import type { Releases } from "./releases.ts";
import type { Renewals, RenewedSlot } from "./renewals.ts";

/** Shared by the slots of a store in this process. */
export interface SlotKeeper {
  readonly store: SlotStore;
  readonly renewals: Renewals;
  readonly releases: Releases;
  /** The limiter that they belong to. */
  readonly labels: LimiterLabels;
}

/** Slots that a call asks for, and holds if it is admitted. */
export class HeldSlots implements SlotHandle {
  readonly #keeper: SlotKeeper;
  /** The holder's id. */
  readonly holder: string;
  readonly #slots: readonly RenewedSlot[];
  #abort: AbortController | undefined;
  /** Why the signal aborted, or will once it is requested. */
  #reason: HeadgateError | undefined;
  #isReleased = false;
  /** Records that they are no longer in use; undefined if they are not being counted. */
  #stopCounting: (() => void) | undefined;

  /** They are held from when the store was asked, or slightly later. */
  constructor(keeping: SlotKeeper, counters: readonly SubjectCounter[], holder: string) {
    this.#keeper = keeping;
    this.holder = holder;
    const now = keeping.store.now();
    this.#slots = counters.map((counter) => ({
      store: keeping.store,
      counter,
      holder,
      ttl: counter.group.slotTtl as number,
      expiresAt: now + (counter.group.slotTtl as number),
      shouldRenew: never,
      onLost: () => this.#abortWith(slotLostError()),
    }));
  }

  get signal(): AbortSignal {
    if (this.#abort !== undefined) return this.#abort.signal;
    this.#abort = new AbortController();
    if (this.#reason !== undefined) this.#abort.abort(this.#reason);
    else if (!this.#isReleased) for (const place of this.#slots) this.#keeper.renewals.add(place);
    return this.#abort.signal;
  }

  markGranted(): void {
    const units = this.#counters.reduce((sum, counter) => sum + costAt(counter, 0, 1), 0);
    this.#stopCounting = trackInUse("slots", this.#keeper.labels, units);
    if (this.#stopCounting === undefined) return;
    // So that the count of slots in use notices expired ones.
    for (const place of this.#slots) this.#keeper.renewals.add(place);
  }

  startRenewing(isNeeded: () => boolean = always): void {
    if (this.#isReleased || this.#reason !== undefined) return;
    for (const place of this.#slots) {
      place.shouldRenew = isNeeded;
      this.#keeper.renewals.add(place);
    }
  }

  abandon(): void {
    if (!this.#isReleased) this.#abortWith(clientLeftError());
  }

  async release(): Promise<boolean> {
    if (this.#isReleased) return false;
    this.#isReleased = true;
    this.#stopRenewing();
    const { store, releases } = this.#keeper;
    try {
      const given = await Promise.all(
        this.#slots.map(({ counter }) => store.renewOrRelease(counter, [this.holder], false)),
      );
      return given.flat().includes(true);
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
    this.#abort?.abort(this.#reason);
  }

  #stopRenewing(): void {
    for (const place of this.#slots) this.#keeper.renewals.remove(place);
    this.#stopCounting?.();
  }
}

const always = (): boolean => true;
const never = (): boolean => false;

function slotLostError(): HeadgateError {
  return new HeadgateError(
    "HEADGATE_SLOT_LOST",
    "this work may have lost its place: it was not renewed in time, or the store lost it; end the work",
  );
}

function clientLeftError(): HeadgateError {
  return new HeadgateError(
    "HEADGATE_CLIENT_DISCONNECTED",
    "the client left before its request was answered",
  );
}
