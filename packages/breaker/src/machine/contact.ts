import type { Operation } from "@headgate/core/internal";
import { contactLua } from "./lua.generated.ts";
import { isCounted, judge } from "./period.ts";
import type { TargetKeys } from "./target.ts";
import { emptyWindow, readTarget, targetStep, writeTarget } from "./target.ts";
import { requestTrial, settle } from "./trial-calls.ts";
import type { OutcomeBatch } from "./window.ts";

export interface Contact {
  readonly target: TargetKeys;
  /** The period in which the calls were admitted; -1 for any. */
  readonly admitted: number;
  /** How they ended, in a batch of the policy's window; undefined for none. */
  readonly outcomes: OutcomeBatch | undefined;
  /** The lease of a trial call; 0 for none. */
  readonly lease: number;
  /** How that ended: an outcome's code, or -1 for a call that says nothing. */
  readonly outcome: number;
  /** Whether one more call is asked for. */
  readonly asks: boolean;
}

/** Contacts a target: reports how calls ended, asks for one more, and learns its state. contact.lua documents the reply. */
export const contact: Operation<Contact> = targetStep(
  "contact",
  contactLua,
  ({ admitted, outcomes, lease, outcome, asks }) => [
    ...[admitted, String(outcomes ?? ""), lease, outcome],
    asks ? 1 : 0,
  ],
  ({ target, admitted, outcomes, lease, outcome, asks }, memory, moment) => {
    const { policy } = target;
    const { now } = moment;
    const read = readTarget(target, memory, moment);
    const { period, id } = read;
    if (outcomes !== undefined && isCounted(period, admitted)) {
      policy.window.add(read.window, outcomes, now, policy.size);
      read.windowIsDirty = true;
      judge(period, policy, id, now, read.window);
    }
    if (lease !== 0 && settle(period, policy, id, now, lease, outcome)) {
      emptyWindow(read, policy, now);
    }
    const permit = asks ? requestTrial(period, policy, id, now) : 0;
    return writeTarget(target, read, memory, now, permit);
  },
);
