import type { LuaSource, MemoryAccess, Operation, OperationContext } from "@headgate/core/internal";
import { defineListOperation } from "@headgate/core/internal";
import type { BreakerPolicy } from "./breaker-policy.ts";
import type { CallDecision } from "./call-decision.ts";
import type { Period } from "./period.ts";
import { advancePeriod, createInitialPeriod, microsUntilChange } from "./period.ts";
import type { CallCounts } from "./window.ts";
import { encodeReply, REPLY_SIZE } from "./wire.ts";

/** The server's work for one operation on a target; a decision on one counter is 1. */
const WEIGHT = 8;

/** The keys and the policy of a target. Both keys have the same hash slot. */
export interface TargetKeys {
  readonly periodKey: string;
  readonly windowKey: string;
  readonly policy: BreakerPolicy;
}

/** A target in memory, brought up to date. Twin of the one in target.lua. */
export interface LoadedTarget {
  readonly id: number;
  readonly period: Period;
  window: CallCounts;
  /** When the window began. */
  windowBeganAt: number;
  isWindowDirty: boolean;
}

/** A window in memory. */
interface StoredWindow {
  readonly beganAt: number;
  readonly counts: CallCounts;
}

/** Creates an operation on one target. Its reply has the format that sync-target.lua documents. */
export function createTargetOperation<Call extends { readonly target: TargetKeys }>(
  name: string,
  source: LuaSource,
  parameters: (call: Call) => readonly (string | number)[],
  runInMemory: Operation<Call>["runInMemory"],
): Operation<Call> {
  return {
    isFireAndForget: true,
    ...defineListOperation<Call>(name, {
      source,
      parameters: (call) => [call.target.policy.description, ...parameters(call)],
      replySize: () => REPLY_SIZE,
    }),
    keys: ({ target }) => [target.periodKey, target.windowKey],
    weight: () => WEIGHT,
    runInMemory,
  };
}

export function loadTarget(
  { periodKey, windowKey, policy }: TargetKeys,
  memory: MemoryAccess,
  { now, generation }: OperationContext,
): LoadedTarget {
  const id = ((generation + 1) % (2 ** 48 - 1)) + 1;
  const storedPeriod = memory.get(periodKey) as Period | undefined;
  if (storedPeriod !== undefined) {
    storedPeriod.isDirty = false;
    storedPeriod.isNew = false;
  }
  const { window, windowSize } = policy;
  const period = advancePeriod(storedPeriod ?? createInitialPeriod(now), policy, id, now);
  const storedWindow = memory.get(windowKey) as StoredWindow | undefined;
  const isCurrent = storedWindow !== undefined && storedWindow.beganAt >= period.windowEmptiedAt;
  const counts = isCurrent ? storedWindow.counts : window.createEmpty(now, windowSize);
  return {
    id,
    period,
    window: counts,
    windowBeganAt: isCurrent ? storedWindow.beganAt : now,
    isWindowDirty: window.advance(counts, now, windowSize),
  };
}

export function emptyWindow(
  target: LoadedTarget,
  { window, windowSize }: BreakerPolicy,
  now: number,
): void {
  target.period.windowEmptiedAt = now;
  target.window = window.createEmpty(now, windowSize);
  target.windowBeganAt = now;
  target.isWindowDirty = true;
}

/** Stores the changes. Returns the reply: the target's state and the decision. */
export function saveTarget(
  { periodKey, windowKey, policy }: TargetKeys,
  { period, window, windowBeganAt, isWindowDirty }: LoadedTarget,
  memory: MemoryAccess,
  now: number,
  decision: CallDecision,
): number[] {
  if (period.isDirty) {
    // When memory is full, breakers stay longer than limits that are hardly used.
    memory.set(
      periodKey,
      period,
      { usedShare: 1, expiresAt: period.expiresAt, logEntries: 0 },
      now,
    );
  }
  if (isWindowDirty) {
    const expiresAt = now + policy.window.retentionMicros(policy.windowSize);
    const kept: StoredWindow = { beganAt: windowBeganAt, counts: window };
    memory.set(windowKey, kept, { usedShare: 1, expiresAt, logEntries: 0 }, now);
  }
  const remainingMicros = microsUntilChange(period, policy, now);
  return encodeReply(now, period, remainingMicros, window, decision);
}
