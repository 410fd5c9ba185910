import { HeadgateError } from "../common/errors.ts";
import { noteInUse } from "../common/in-use-count.ts";
import type { ReportedLimiter } from "../common/reported-limiter.ts";
import type { Counter } from "../operations/counter.ts";
import { unitsAt } from "../operations/counter.ts";
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
  readonly reported: ReportedLimiter;
}

/** Slots that a call asks for, and holds if it is admitted. */
export class HeldSlots implements SlotHandle {
  readonly #keeping: SlotKeeper;
  /** The holder's id. */
  readonly holder: string;
  readonly #slots: readonly RenewedSlot[];
  #abort: AbortController | undefined;
  /** Why the signal aborted, or will once it is requested. */
  #reason: HeadgateError | undefined;
  #isReleased = false;
  /** Records that they are no longer in use; undefined if they are not being counted. */
  #noteOver: (() => void) | undefined;

  /** They are held from when the store was asked, or slightly later. */
  constructor(keeping: SlotKeeper, counters: readonly SubjectCounter[], holder: string) {
    this.#keeping = keeping;
    this.holder = holder;
    const now = keeping.store.now();
    this.#slots = counters.map((counter) => ({
      store: keeping.store,
      counter,
      holder,
      ttl: counter.group.heldFor as number,
      until: now + (counter.group.heldFor as number),
      isRenewed: never,
      onLost: () => this.#end(lost()),
    }));
  }

  get signal(): AbortSignal {
    if (this.#abort !== undefined) return this.#abort.signal;
    this.#abort = new AbortController();
    if (this.#reason !== undefined) this.#abort.abort(this.#reason);
    else if (!this.#isReleased) for (const place of this.#slots) this.#keeping.renewals.add(place);
    return this.#abort.signal;
  }

  hold(): void {
    const units = this.#counters.reduce((sum, counter) => sum + unitsAt(counter, 0, 1), 0);
    this.#noteOver = noteInUse("places", this.#keeping.reported, units);
    if (this.#noteOver === undefined) return;
    // So that the count of slots in use notices expired ones.
    for (const place of this.#slots) this.#keeping.renewals.add(place);
  }

  keep(isNeeded: () => boolean = always): void {
    if (this.#isReleased || this.#reason !== undefined) return;
    for (const place of this.#slots) {
      place.isRenewed = isNeeded;
      this.#keeping.renewals.add(place);
    }
  }

  abandon(): void {
    if (!this.#isReleased) this.#end(left());
  }

  async release(): Promise<boolean> {
    if (this.#isReleased) return false;
    this.#isReleased = true;
    this.#forget();
    const { store, releases } = this.#keeping;
    try {
      const given = await Promise.all(
        this.#slots.map(({ counter }) => store.tend(counter, [this.holder], false)),
      );
      return given.flat().includes(true);
    } catch (error) {
      this.#isReleased = false;
      throw error;
    } finally {
      releases.announce(this.#counters);
    }
  }

  get #counters(): readonly Counter[] {
    return this.#slots.map(({ counter }) => counter);
  }

  #end(reason: HeadgateError): void {
    this.#forget();
    this.#reason ??= reason;
    this.#abort?.abort(this.#reason);
  }

  #forget(): void {
    for (const place of this.#slots) this.#keeping.renewals.remove(place);
    this.#noteOver?.();
  }
}

const always = (): boolean => true;
const never = (): boolean => false;

function lost(): HeadgateError {
  return new HeadgateError(
    "HEADGATE_PLACE_LOST",
    "this work may have lost its place: it was not renewed in time, or the store lost it; end the work",
  );
}

function left(): HeadgateError {
  return new HeadgateError(
    "HEADGATE_CLIENT_LEFT",
    "the client left before its request was answered",
  );
}
