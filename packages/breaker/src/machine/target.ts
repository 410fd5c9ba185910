import type { LuaSource, Now, Operation, TwinMemory } from "@headgate/core/internal";
import { runList } from "@headgate/core/internal";
import type { BreakerPolicy } from "./breaker-policy.ts";
import type { Period } from "./period.ts";
import { absentPeriod, advancePeriod, leftOf } from "./period.ts";
import type { Counts } from "./window.ts";

/** Integers that report a target. */
export const NUMBERS = 12;

/** How much work a contact is for the server; a decision on one counter is 1. */
const WEIGHT = 8;

/** Where a target's counts are, and when it opens. Both keys are in one cluster slot. */
export interface TargetKeys {
  readonly periodKey: string;
  readonly windowKey: string;
  readonly policy: BreakerPolicy;
}

/** A target in memory, brought up to date. Twin of the one in target.lua. */
export interface ReadTarget {
  readonly id: number;
  readonly period: Period;
  window: Counts;
  /** When the window began. */
  began: number;
  windowIsDirty: boolean;
}

/** A window in memory. */
interface KeptWindow {
  readonly began: number;
  readonly counts: Counts;
}

/** A step on one target, whose reply reports it: contact.lua has its numbers. */
export function targetStep<Call extends { readonly target: TargetKeys }>(
  name: string,
  source: LuaSource,
  parameters: (call: Call) => readonly (string | number)[],
  twin: Operation<Call>["twin"],
): Operation<Call> {
  return {
    isReport: true,
    ...runList<Call>(name, {
      source,
      parameters: (call) => [call.target.policy.description, ...parameters(call)],
      replySize: () => NUMBERS,
    }),
    keys: ({ target }) => [target.periodKey, target.windowKey],
    weight: () => WEIGHT,
    twin,
  };
}

export function readTarget(
  { periodKey, windowKey, policy }: TargetKeys,
  memory: TwinMemory,
  { now, generation }: Now,
): ReadTarget {
  const id = ((generation + 1) % (2 ** 48 - 1)) + 1;
  const known = memory.get(periodKey) as Period | undefined;
  if (known !== undefined) {
    known.dirty = false;
    known.changed = false;
  }
  const { window, size } = policy;
  const period = advancePeriod(known ?? absentPeriod(now), policy, id, now);
  const kept = memory.get(windowKey) as KeptWindow | undefined;
  const isKept = kept !== undefined && kept.began >= period.emptied;
  const counts = isKept ? kept.counts : window.fresh(now, size);
  return {
    id,
    period,
    window: counts,
    began: isKept ? kept.began : now,
    windowIsDirty: window.advance(counts, now, size),
  };
}

export function emptyWindow(
  target: ReadTarget,
  { window, size }: BreakerPolicy,
  now: number,
): void {
  target.period.emptied = now;
  target.window = window.fresh(now, size);
  target.began = now;
  target.windowIsDirty = true;
}

/** Stores the changes; returns the state of the target, with the answer to the question. */
export function writeTarget(
  { periodKey, windowKey, policy }: TargetKeys,
  { period, window, began, windowIsDirty }: ReadTarget,
  memory: TwinMemory,
  now: number,
  permit: number,
): number[] {
  if (period.dirty) {
    // When memory is full, breakers stay longer than limits that are hardly used.
    memory.set(periodKey, period, { share: 1, expires: period.expires, entries: 0 }, now);
  }
  if (windowIsDirty) {
    const expires = now + policy.window.expiry(policy.size);
    const kept: KeptWindow = { began, counts: window };
    memory.set(windowKey, kept, { share: 1, expires, entries: 0 }, now);
  }
  return [
    now,
    period.kind,
    period.id,
    leftOf(period, policy, now),
    period.opened,
    period.calls,
    period.failures,
    period.slow,
    window.calls,
    window.failures,
    window.slow,
    permit,
    period.changed ? 1 : 0,
  ];
}
