import type { HeadgateError } from "@headgate/core";
import { publishDegraded } from "../channels.ts";
import type { Contact } from "../machine/contact.ts";
import { contact } from "../machine/contact.ts";
import type { Order } from "../machine/order.ts";
import { order } from "../machine/order.ts";
import type { TargetKeys } from "../machine/target.ts";
import type { OutcomeBatch } from "../machine/window.ts";
import type { LocalTarget } from "./local-target.ts";
import type { StoreAccess } from "./store-access.ts";
import type { View } from "./view.ts";
import { readPermit, readView } from "./view.ts";

/** How calls ended. */
export type Report = Pick<Contact, "admitted" | "outcomes">;

/** How a trial call ended, and whether one more call is asked for. */
export type TrialRequest = Pick<Contact, "lease" | "outcome" | "asks">;

/** The result of a contact. */
export interface TargetReply {
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
  /** For outages; undefined where the store is the memory of this process, and never away. */
  readonly local: LocalTarget | undefined;
}

/** Contacts a target in the store, and while that is away in this process alone. */
export class TargetContacts {
  readonly #options: ContactOptions;
  #made = 0;
  /** The fleet's last known state. */
  #known: View | undefined;
  #isDegraded = false;
  readonly #onLate = (reply: readonly number[]): void => this.#giveBackLate(reply);

  constructor(options: ContactOptions) {
    this.#options = options;
  }

  /** One contact. If the store is memory, it ends at once. */
  contact(report: Report, question: TrialRequest): TargetReply | Promise<TargetReply> {
    const { access, keys } = this.#options;
    const call: Contact = {
      target: keys,
      admitted: report.admitted,
      outcomes: report.outcomes,
      lease: question.lease,
      outcome: question.outcome,
      asks: question.asks,
    };
    this.#made += 1;
    if (access.runNow === undefined) return this.#ask(call, this.#made);
    return hear(access.runNow(contact, call), access.now(), false, this.#made);
  }

  async #ask(call: Contact, number: number): Promise<TargetReply> {
    const { access } = this.#options;
    try {
      const reply = await access.run(contact, call, call.asks ? this.#onLate : undefined);
      const heard = hear(reply, access.now(), false, number);
      this.#handBack(heard.view, call.outcomes);
      return heard;
    } catch (error) {
      const { local } = this.#goAlone(error);
      const reply = await local.contact({ ...call, admitted: -1 });
      return hear(reply, access.now(), true, number);
    }
  }

  /** Sets the state for the whole fleet, or, if the store does not answer, for this process alone. */
  async order(
    kind: number,
    empties: boolean,
  ): Promise<{ readonly heard: TargetReply; readonly failure?: HeadgateError }> {
    const { access, keys } = this.#options;
    const call: Order = { target: keys, kind, lasts: 0, opened: 0, empties };
    this.#made += 1;
    const number = this.#made;
    try {
      const heard = hear(await access.run(order, call), access.now(), false, number);
      this.#handBack(heard.view, undefined);
      return { heard };
    } catch (error) {
      const { local, failure } = this.#goAlone(error);
      return { heard: hear(await local.order(call), access.now(), true, number), failure };
    }
  }

  /**
   * A place for a trial call that arrived too late is not used. It goes back the way it came, which
   * works even while the store is still known to be down; if it does not arrive, the lease ends by itself.
   */
  #giveBackLate(reply: readonly number[]): void {
    const { access, keys } = this.#options;
    const lease = readPermit(reply);
    if (!(lease > 0)) return;
    const report = { admitted: -1, outcomes: undefined, lease, outcome: -1, asks: false };
    access.send(contact, { target: keys, ...report }).catch(() => {});
  }

  /** The store answers: this process only counts, for the next outage. */
  #handBack(view: View, outcomes: OutcomeBatch | undefined): void {
    const { local } = this.#options;
    this.#known = view;
    if (this.#isDegraded) local?.handBack();
    this.#isDegraded = false;
    if (outcomes !== undefined) local?.count(outcomes);
  }

  /** The store did not answer: this process decides by itself. Throws every other error. */
  #goAlone(error: unknown): { readonly local: LocalTarget; readonly failure: HeadgateError } {
    const { access, breaker, name } = this.#options;
    const failure = access.readFailure(error);
    const local = this.#options.local as LocalTarget;
    if (!this.#isDegraded) {
      this.#isDegraded = true;
      local.takeOver(this.#known);
      publishDegraded({ breaker, target: name, reason: failure });
    }
    return { local, failure };
  }
}

function hear(
  reply: readonly number[],
  now: number,
  degraded: boolean,
  number: number,
): TargetReply {
  return { view: readView(reply, now, degraded), permit: readPermit(reply), number };
}
