import { publishDegraded } from "./channels.ts";
import type { LocalTarget } from "./local-target.ts";
import type { Contact } from "./machine/contact.ts";
import { contact } from "./machine/contact.ts";
import { order } from "./machine/order.ts";
import type { TargetKeys } from "./machine/target.ts";
import type { OutcomeBatch } from "./machine/window.ts";
import type { StoreAccess } from "./store-access.ts";
import type { View } from "./view.ts";
import { readPermit, readView } from "./view.ts";

/** How calls ended. */
export type Told = Pick<Contact, "admitted" | "outcomes">;

/** How a trial call ended, and whether one more call is asked for. */
export type Question = Pick<Contact, "lease" | "outcome" | "asks">;

/** What a contact brought. */
export interface Heard {
  readonly view: View;
  /** The answer to a call that was asked for: 0 no, -1 yes, or the lease of a trial call. */
  readonly permit: number;
  /** Counts contacts in the order in which they were made. */
  readonly number: number;
}

export interface ContactOptions {
  readonly breaker: string;
  readonly name: string;
  readonly keys: TargetKeys;
  readonly access: StoreAccess;
  /** This process alone; undefined where the store is its memory, and is never away. */
  readonly local: LocalTarget | undefined;
}

/** Contacts a target in the store, and while that is away in this process alone. */
export class TargetContacts {
  readonly #options: ContactOptions;
  #made = 0;
  /** The last that was learned of the fleet. */
  #known: View | undefined;
  #isDegraded = false;

  constructor(options: ContactOptions) {
    this.#options = options;
  }

  async contact(told: Told, question: Question): Promise<Heard> {
    const { access, keys } = this.#options;
    const call: Contact = {
      target: keys,
      // Periods of a time when the store was away are unknown to it.
      admitted: this.#isDegraded ? -1 : told.admitted,
      outcomes: told.outcomes,
      lease: question.lease,
      outcome: question.outcome,
      asks: question.asks,
    };
    this.#made += 1;
    const number = this.#made;
    try {
      const onLate = question.asks
        ? (reply: readonly number[]) => this.#giveBack(reply)
        : undefined;
      const reply = await access.run(contact, call, onLate);
      const view = readView(reply, access.now(), false);
      this.#handBack(view, told.outcomes);
      return { view, permit: readPermit(reply), number };
    } catch (error) {
      const reply = await this.#contactAlone(error, call);
      return { view: readView(reply, access.now(), true), permit: readPermit(reply), number };
    }
  }

  /** Sets the state for the whole fleet. Rejects as the store does. */
  async order(kind: number, empties: boolean): Promise<Heard> {
    const { access, keys } = this.#options;
    this.#made += 1;
    const number = this.#made;
    const reply = await access.run(order, { target: keys, kind, lasts: 0, opened: 0, empties });
    const view = readView(reply, access.now(), false);
    this.#handBack(view, undefined);
    return { view, permit: 0, number };
  }

  /** A place for a trial call that was given too late is held by nobody. */
  #giveBack(reply: readonly number[]): void {
    const { access, keys } = this.#options;
    const lease = readPermit(reply);
    if (!(lease > 0)) return;
    const call = {
      target: keys,
      admitted: -1,
      outcomes: undefined,
      lease,
      outcome: -1,
      asks: false,
    };
    // Where it does not arrive the lease ends by itself.
    access.run(contact, call).catch(() => {});
  }

  /** The store answers: this process only counts, for the next time that it is away. */
  #handBack(view: View, outcomes: OutcomeBatch | undefined): void {
    const { local } = this.#options;
    this.#known = view;
    if (this.#isDegraded) local?.handBack();
    this.#isDegraded = false;
    if (outcomes !== undefined) local?.count(outcomes);
  }

  /** The store did not answer: this process goes on by itself. */
  #contactAlone(error: unknown, call: Contact): Promise<readonly number[]> {
    const { access, breaker, name } = this.#options;
    const reason = access.readFailure(error);
    const local = this.#options.local as LocalTarget;
    if (!this.#isDegraded) {
      this.#isDegraded = true;
      local.takeOver(this.#known);
      publishDegraded({ breaker, target: name, reason });
    }
    return local.contact({ ...call, admitted: -1 });
  }
}
