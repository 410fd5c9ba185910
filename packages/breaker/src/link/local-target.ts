import type { CountingStore, Operation } from "@headgate/core/internal";
import type { Contact } from "../machine/contact.ts";
import { contact } from "../machine/contact.ts";
import type { Order } from "../machine/order.ts";
import { order } from "../machine/order.ts";
import { CLOSED, METRICS_ONLY } from "../machine/period.ts";
import type { TargetKeys } from "../machine/target.ts";
import type { OutcomeBatch } from "../machine/window.ts";
import type { View } from "./view.ts";

/**
 * A target in the memory of this process, for the time in which the store does not answer. Memory answers at once, so calls take
 * effect in their order, awaited or not.
 */
export interface LocalTarget {
  /** Counts outcomes, and decides nothing. */
  count(outcomes: OutcomeBatch): void;
  /** Forgets what was counted. */
  empty(): void;
  /** Decides from now on, starting from the fleet's last known state. */
  takeOver(view: View | undefined): void;
  /** Only counts again. */
  handBack(): void;
  contact(call: Contact): Promise<readonly number[]>;
  order(call: Order): Promise<readonly number[]>;
}

/** `store` is memory of this process, on the clock of the shared one. */
export function createLocalTarget(store: CountingStore, target: TargetKeys): LocalTarget {
  /** A clock without a valid time is reported where the store is asked, which always happens before. */
  function run<Call>(operation: Operation<Call>, call: Call): void {
    store.run(operation, call).catch(() => {});
  }

  let hasBegun = false;

  function onlyCount(empties: boolean): void {
    run(order, { target, kind: METRICS_ONLY, lasts: 0, opened: 0, empties });
  }

  /** A target without calls takes no memory. The remains of an earlier link are useless. */
  function begin(): void {
    if (!hasBegun) onlyCount(true);
    hasBegun = true;
  }

  return {
    count(outcomes) {
      begin();
      run(contact, { target, admitted: -1, outcomes, lease: 0, outcome: 0, asks: false });
    },
    empty() {
      if (hasBegun) onlyCount(true);
    },
    takeOver({ kind, ends, opened } = { kind: CLOSED, ends: 0, opened: 0 } as View) {
      begin();
      const lasts = Math.max(ends - store.now(), 0);
      run(order, { target, kind, lasts, opened, empties: false });
    },
    handBack: () => onlyCount(false),
    contact: (call) => store.run(contact, call),
    order: (call) => store.run(order, call),
  };
}
