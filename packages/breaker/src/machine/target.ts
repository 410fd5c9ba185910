import type { LuaSource, MemoryAccess, Operation, OperationContext } from "@headgate/core/internal";
import { defineListOperation, OBJECT_FORMAT } from "@headgate/core/internal";
import type { BreakerPolicy, CallCounts, OutcomeBatch } from "./breaker-policy.ts";
import { setTargetStateLua, syncTargetLua } from "./lua.generated.ts";
import type {
  AdmittedPeriod,
  BreakerState,
  CallDecision,
  EndedTrialCall,
  Period,
} from "./period.ts";
import {
  acceptsOutcomes,
  advancePeriod,
  beginClosed,
  beginHalfOpen,
  beginManualState,
  beginOpen,
  createInitialPeriod,
  endTrialCall,
  microsUntilChange,
  openIfThresholdsExceeded,
  REJECTED,
  requestCall,
} from "./period.ts";
import {
  encodeAdmittedPeriod,
  encodeOutcome,
  encodeReply,
  encodeState,
  REPLY_SIZE,
} from "./wire.ts";

/** The server's work for one operation on a target; a decision on one counter is 1. */
const WEIGHT = 8;

/** The keys and the policy of a target. Both keys have the same hash slot. */
export interface TargetKeys {
  readonly periodKey: string;
  readonly windowKey: string;
  readonly policy: BreakerPolicy;
}

/** Creates an operation on one target. Its reply has the format that sync-target.lua documents. */
function createTargetOperation<Call extends { readonly target: TargetKeys }>(
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

export interface SyncRequest {
  readonly target: TargetKeys;
  /** The period in which the calls were admitted. */
  readonly admittedIn: AdmittedPeriod;
  /** Their outcomes, in a batch of the policy's window; undefined for none. */
  readonly outcomes: OutcomeBatch | undefined;
  readonly endedTrial: EndedTrialCall | undefined;
  /** Whether it requests a call. */
  readonly requestsCall: boolean;
}

/** Reports how calls of a target ended, requests a call, and reads the target's state. sync-target.lua documents the reply. */
export const syncTarget: Operation<SyncRequest> = createTargetOperation(
  "sync-target",
  syncTargetLua,
  ({ admittedIn, outcomes, endedTrial, requestsCall }) => [
    encodeAdmittedPeriod(admittedIn),
    String(outcomes ?? ""),
    endedTrial === undefined ? 0 : endedTrial.leaseId,
    endedTrial === undefined ? 0 : encodeOutcome(endedTrial.outcome),
    requestsCall ? 1 : 0,
  ],
  ({ target, admittedIn, outcomes, endedTrial, requestsCall }, memory, context) => {
    const { policy } = target;
    const { now } = context;
    const loaded = loadTarget(target, memory, context);
    const { period, id } = loaded;
    if (outcomes !== undefined && acceptsOutcomes(period, admittedIn)) {
      policy.window.add(loaded.window, outcomes, now, policy.windowSize);
      loaded.isWindowDirty = true;
      openIfThresholdsExceeded(period, policy, id, now, loaded.window);
    }
    if (endedTrial !== undefined && endTrialCall(period, policy, id, now, endedTrial)) {
      emptyWindow(loaded, policy, now);
    }
    const decision = requestsCall ? requestCall(period, policy, id, now) : REJECTED;
    return saveTarget(target, loaded, memory, now, decision);
  },
);

export interface SetStateRequest {
  readonly target: TargetKeys;
  readonly state: BreakerState;
  /** Microseconds that an open period lasts, or the ramp of a closed one. */
  readonly durationMicros: number;
  /** Openings in a row after the change. */
  readonly openings: number;
  /** Whether the window is emptied. */
  readonly emptiesWindow: boolean;
}

/** Sets the state of a target by hand. The reply has the format of `syncTarget`. */
export const setTargetState: Operation<SetStateRequest> = createTargetOperation(
  "set-target-state",
  setTargetStateLua,
  ({ state, durationMicros, openings, emptiesWindow }) => [
    encodeState(state),
    durationMicros,
    openings,
    emptiesWindow ? 1 : 0,
  ],
  ({ target, state, durationMicros, openings, emptiesWindow }, memory, context) => {
    const { policy } = target;
    const { now } = context;
    const loaded = loadTarget(target, memory, context);
    const { period, id, window } = loaded;
    if (state === "closed") beginClosed(period, id, now, window, durationMicros);
    else if (state === "open") beginOpen(period, policy, id, now, window, durationMicros);
    else if (state === "half-open") beginHalfOpen(period, id, now);
    else beginManualState(period, state, id, now, window);
    period.openings = openings;
    if (emptiesWindow) emptyWindow(loaded, policy, now);
    return saveTarget(target, loaded, memory, now, REJECTED);
  },
);

/** A target in memory, brought up to date. Twin of the one in target.lua. */
interface LoadedTarget {
  readonly id: number;
  readonly period: Period;
  window: CallCounts;
  /** When the window began. */
  windowBeganAt: number;
  isWindowDirty: boolean;
}

/** The keyspace of breakers in a memory store. */
const KEYSPACE = "breakers";

/** A window in memory. */
interface StoredWindow {
  readonly beganAt: number;
  readonly counts: CallCounts;
}

function loadTarget(
  { periodKey, windowKey, policy }: TargetKeys,
  memory: MemoryAccess,
  { now, generation }: OperationContext,
): LoadedTarget {
  const id = ((generation + 1) % (2 ** 48 - 1)) + 1;
  const storedPeriod = memory.get(KEYSPACE, periodKey, OBJECT_FORMAT) as Period | undefined;
  if (storedPeriod !== undefined) {
    storedPeriod.isDirty = false;
    storedPeriod.isNew = false;
  }
  const { window, windowSize } = policy;
  const period = advancePeriod(storedPeriod ?? createInitialPeriod(now), policy, id, now);
  const storedWindow = memory.get(KEYSPACE, windowKey, OBJECT_FORMAT) as StoredWindow | undefined;
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

function emptyWindow(
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
function saveTarget(
  { periodKey, windowKey, policy }: TargetKeys,
  { period, window, windowBeganAt, isWindowDirty }: LoadedTarget,
  memory: MemoryAccess,
  now: number,
  decision: CallDecision,
): number[] {
  if (period.isDirty) {
    // When memory is full, breakers stay longer than limits that are hardly used.
    const rank = { usedShare: 1, expiresAt: period.expiresAt, logEntries: 0 };
    memory.set(KEYSPACE, periodKey, OBJECT_FORMAT, period, rank, now);
  }
  if (isWindowDirty) {
    const expiresAt = now + policy.window.retentionMicros(policy.windowSize);
    const kept: StoredWindow = { beganAt: windowBeganAt, counts: window };
    const rank = { usedShare: 1, expiresAt, logEntries: 0 };
    memory.set(KEYSPACE, windowKey, OBJECT_FORMAT, kept, rank, now);
  }
  const remainingMicros = microsUntilChange(period, policy, now);
  return encodeReply(now, period, remainingMicros, window, decision);
}
