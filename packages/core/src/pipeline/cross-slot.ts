import { HeadgateError } from "../common/errors.ts";
import type { StoreMonitor } from "../health/store-monitor.ts";
import type { Counter } from "../operations/counter.ts";
import { operationFor } from "../operations/decide.ts";
import type { DecideCall, DecideMode, StoreDecision } from "../operations/decide-call.ts";
import { isCharging } from "../operations/decide-call.ts";
import { partialReceipt } from "../operations/refund.ts";
import { slotsOperation } from "../operations/slots.ts";
import type { CompiledPolicy } from "../policy/compiled-policy.ts";
import type { SubjectCounter } from "../policy/counters.ts";
import { slotCountersOf } from "../policy/counters.ts";
import type { SlotHandle } from "../policy/limiter-decision.ts";
import { receiptsOf } from "../policy/limiter-decision.ts";
import type { ScriptTransport } from "../store/store.ts";
import type { DecisionRequest } from "./decision-request.ts";
import { groupByHashSlot, regroupByHashSlot } from "./hash-slots.ts";
import { refundMutation } from "./mutations.ts";
import type { Mutation, MutationResult } from "./stage.ts";
import { publishThresholds } from "./thresholds.ts";

/** A limiter's policy, and the servers with its counters. */
export interface PolicyOnServers {
  readonly policy: CompiledPolicy;
  readonly monitor: StoreMonitor;
  readonly transport: ScriptTransport;
}

/** The decisions of the hash slots on a request; of two on the same limit, the later one counts. */
interface HashSlotDecisions {
  readonly decisions: readonly StoreDecision[];
  /** Whether the waits of a denial are certain: not if other requests may be refunding. */
  readonly isCacheable: boolean;
}

/**
 * Decides on counters that may be in several hash slots. Rejects with the store's error. Releases `slots` if charges are
 * undone.
 */
export async function decideByHashSlot(
  servers: PolicyOnServers,
  request: DecisionRequest,
  slots?: SlotHandle,
): Promise<HashSlotDecisions> {
  const { monitor, transport } = servers;
  const { policy, counters, usedTimeoutMs } = request;
  const withinMs = monitor.timeoutMs - usedTimeoutMs;
  const hashSlots = groupByHashSlot(counters, transport);
  if (hashSlots.length > 1) {
    return new CrossSlotDecision(servers, hashSlots, request, slots).decide(withinMs);
  }
  const sentAt = monitor.now();
  try {
    const decision = await decideInOneCall(monitor, policy, request, usedTimeoutMs);
    publishThresholds(policy, decision.thresholds);
    return { decisions: [decision], isCacheable: true };
  } catch (error) {
    // The refused call did nothing, so each hash slot gets a call of its own in the time that is left.
    const regrouped = regroupByHashSlot(error, counters, transport);
    if (regrouped === undefined) throw error;
    const leftMs = withinMs - (monitor.now() - sentAt);
    return new CrossSlotDecision(servers, regrouped, request, slots).decide(leftMs);
  }
}

/**
 * Decides with one call. If it is answered after it timed out, its slots are released, and the thresholds that it reached are
 * published, because no other process receives that report.
 */
export function decideInOneCall(
  monitor: StoreMonitor,
  policy: CompiledPolicy,
  call: DecideCall,
  usedTimeoutMs: number,
): Promise<StoreDecision> {
  const { counters, mode, holder, upTo } = call;
  let needsLateReply = holder !== undefined;
  for (const { notifyingLimits } of counters) needsLateReply ||= notifyingLimits.length > 0;
  const onLateReply = needsLateReply
    ? (decision?: StoreDecision) => {
        if (holder !== undefined) releaseSlots(policy, call);
        if (decision !== undefined) publishThresholds(policy, decision.thresholds);
      }
    : undefined;
  const { key } = counters[0] as Counter;
  return monitor.run(policy.store, operationFor(mode, upTo), call, key, usedTimeoutMs, onLateReply);
}

/** Bypasses the monitor, which knows that the late server is down. Slots that are not released expire. */
function releaseSlots({ store }: CompiledPolicy, { counters, holder }: DecideCall): void {
  for (const counter of slotCountersOf(counters as readonly SubjectCounter[])) {
    const call = { counters: [counter], holders: [holder as string], renews: false } as const;
    store.run(slotsOperation, call).catch(() => {});
  }
}

/**
 * One decision on counters in several hash slots of a cluster, which a single call cannot cover.
 *
 * In the first round, all hash slots are checked concurrently. A denial there is final and charges nothing; if a limit that
 * denied also blocks, its hash slot gets a second call. In the second round, all hash slots are charged concurrently. If one of
 * them denies now because another request was faster, the charges in the others are refunded before the decision is returned.
 * So no limit is ever exceeded. A denied decision can cost only the units that drained while it held its charge, or the whole
 * cost if the refund failed. With `upTo`, the second round takes at most what every hash slot had left in the first. If a hash
 * slot has less left by then, the others refund what they took beyond that.
 */
class CrossSlotDecision {
  readonly #servers: PolicyOnServers;
  readonly #hashSlots: readonly (readonly SubjectCounter[])[];
  readonly #request: DecisionRequest;
  readonly #slots: SlotHandle | undefined;
  /** Set when the time for the decision is over: nothing more is charged, and late charges are refunded. */
  #isOver = false;
  /** The outcome of the second round, set while charges are still being refunded. */
  #outcome: HashSlotDecisions | undefined;

  constructor(
    servers: PolicyOnServers,
    hashSlots: readonly (readonly SubjectCounter[])[],
    request: DecisionRequest,
    slots: SlotHandle | undefined,
  ) {
    this.#servers = servers;
    this.#hashSlots = hashSlots;
    this.#request = request;
    this.#slots = slots;
  }

  /**
   * Takes at most `withinMs` in all; refunds that take longer continue in the background. Rejects with the store's error; then all
   * charges are refunded.
   */
  decide(withinMs: number): Promise<HashSlotDecisions> {
    const { monitor } = this.#servers;
    return new Promise((resolve, reject) => {
      const giveUp = (): void => {
        this.#isOver = true;
        if (this.#outcome !== undefined) resolve(this.#outcome);
        else reject(timeoutError(monitor.timeoutMs));
      };
      const cancel = monitor.giveUpAfter(withinMs, giveUp);
      this.#decide().then(resolve, reject).finally(cancel);
    });
  }

  async #decide(): Promise<HashSlotDecisions> {
    const { cost, mode, upTo } = this.#request;
    const checks = await Promise.all(
      this.#hashSlots.map((some) => this.#send(some, "inspect", upTo)),
    );
    if (checks.some(({ allowed }) => !allowed)) {
      return {
        decisions: mode === "enforce" ? await this.#setBlocks(checks) : checks,
        isCacheable: true,
      };
    }
    // A cost of 0 charges nothing, so there is no second round.
    if (cost === 0 || this.#isOver) return { decisions: checks, isCacheable: false };
    const left = upTo && leastGranted(checks);
    const settled = await Promise.allSettled(
      this.#hashSlots.map((some) => this.#send(some, mode, left)),
    );
    const decisions = settled.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
    const charges = isCharging(mode) ? decisions.filter(({ allowed }) => allowed) : [];
    const failed = settled.find((one) => one.status === "rejected");
    const denials = decisions.filter(({ allowed }) => !allowed);
    // Other requests may be refunding too, so this denial may end early.
    if (denials.length > 0)
      this.#outcome = { decisions: [...checks, ...denials], isCacheable: false };
    if (failed !== undefined || denials.length > 0 || this.#isOver) await this.#undo(charges);
    if (this.#outcome !== undefined) return this.#outcome;
    if (failed !== undefined) throw failed.reason;
    if (left !== undefined && isCharging(mode) && !this.#isOver) {
      this.#outcome = { decisions, isCacheable: false };
      const refunded = await this.#refundBeyond(leastGranted(decisions), decisions);
      return { decisions: refunded, isCacheable: false };
    }
    return { decisions, isCacheable: false };
  }

  /** Calls the hash slots that denied once more, so that they set their blocks: the first round sets none. */
  #setBlocks(checks: readonly StoreDecision[]): Promise<readonly StoreDecision[]> {
    return Promise.all(checks.map((check, i) => this.#setBlock(check, i)));
  }

  async #setBlock(check: StoreDecision, i: number): Promise<StoreDecision> {
    const counters = this.#hashSlots[i] as readonly SubjectCounter[];
    const isBlocked = check.counters.some(({ blockedFor }) => blockedFor > 0);
    if (check.allowed || isBlocked || !counters.some(({ shape }) => shape.blocksOnDenial))
      return check;
    const [decided] = await Promise.allSettled([this.#send(counters, "enforce")]);
    if (decided.status === "rejected") return check;
    if (!decided.value.allowed) return decided.value;
    await this.#undo([decided.value]);
    return check;
  }

  async #send(
    counters: readonly SubjectCounter[],
    mode: DecideMode,
    upTo?: number,
  ): Promise<StoreDecision> {
    const { policy, cost, holder } = this.#request;
    const call = { cost, upTo, mode, counters, holder: isCharging(mode) ? holder : undefined };
    const decision = await decideInOneCall(this.#servers.monitor, policy, call, 0);
    publishThresholds(policy, decision.thresholds);
    return decision;
  }

  /** Refunds charges and releases the slots. If a refund fails, the charge stays. */
  async #undo(charges: readonly StoreDecision[]): Promise<void> {
    await Promise.allSettled([...this.#refunds(charges), this.#slots?.release()]);
  }

  /**
   * Refunds the units that some hash slots charged beyond those that every one granted. Resolves with the decisions, whose
   * remaining units include the refunded ones. If a refund fails, the units stay charged.
   */
  #refundBeyond(
    units: number,
    decisions: readonly StoreDecision[],
  ): Promise<readonly StoreDecision[]> {
    return Promise.all(
      decisions.map(async (decision) => {
        const beyond = (decision.granted ?? 0) - units;
        if (beyond === 0) return decision;
        const results = (await Promise.all(this.#refunds([decision], units))).flat();
        const isRefunded = results.some((one) => "reply" in one && one.reply);
        return isRefunded ? withRemaining(decision, beyond) : decision;
      }),
    );
  }

  /** Begins to refund charges, except for the units that stay charged. */
  #refunds(
    charges: readonly StoreDecision[],
    stillCharged = 0,
  ): Promise<readonly MutationResult<boolean>[]>[] {
    const { policy, cost } = this.#request;
    return charges.flatMap((charge) =>
      receiptsOf(policy, charge.granted ?? cost, [charge]).map((receipt) =>
        mutateOnServers(this.#servers, refundMutation(partialReceipt(receipt, stillCharged))),
      ),
    );
  }
}

/** A decision after units of its charge were refunded. Its times stay, so they may be too long. */
function withRemaining(decision: StoreDecision, refunded: number): StoreDecision {
  const counters = decision.counters.map((one) => {
    // Slots are not refunded.
    if ((one.counter as SubjectCounter).group.slotTtl !== undefined) return one;
    const limits = one.limits.map((limit) => ({
      ...limit,
      remaining: limit.remaining + refunded,
    }));
    return { ...one, limits };
  });
  return { ...decision, counters };
}

/** The units that every one of some decisions with `upTo` grants. */
function leastGranted(decisions: readonly StoreDecision[]): number {
  return Math.min(...decisions.map(({ granted = 0 }) => granted));
}

function timeoutError(timeoutMs: number): HeadgateError {
  return new HeadgateError(
    "HEADGATE_STORE_UNAVAILABLE",
    `the store did not answer from all hash slots within ${timeoutMs} ms`,
  );
}

/** Carries out a mutation in all hash slots concurrently. Never rejects. */
export async function mutateOnServers<Call, Reply>(
  { policy, monitor, transport }: PolicyOnServers,
  { operation, counters, callOf, thresholdsOf }: Mutation<Call, Reply>,
): Promise<readonly MutationResult<Reply>[]> {
  const reportThresholds =
    thresholdsOf &&
    ((reply: Reply | undefined) => {
      if (reply !== undefined) publishThresholds(policy, thresholdsOf(reply));
    });

  async function mutateInOneCall(
    group: readonly Counter[],
    usedTimeoutMs: number,
  ): Promise<readonly MutationResult<Reply>[]> {
    const sentAt = monitor.now();
    try {
      const { key } = group[0] as Counter;
      const reply = await monitor.run(
        policy.store,
        operation,
        callOf(group),
        key,
        usedTimeoutMs,
        reportThresholds,
      );
      reportThresholds?.(reply);
      return [{ counters: group, reply }];
    } catch (error) {
      const regrouped = regroupByHashSlot(error, group, transport);
      if (regrouped === undefined) return [{ counters: group, error }];
      return mutateEachHashSlot(regrouped, usedTimeoutMs + monitor.now() - sentAt);
    }
  }

  async function mutateEachHashSlot(
    hashSlots: readonly (readonly Counter[])[],
    usedTimeoutMs: number,
  ): Promise<readonly MutationResult<Reply>[]> {
    const results = hashSlots.map((group) => mutateInOneCall(group, usedTimeoutMs));
    return (await Promise.all(results)).flat();
  }

  return mutateEachHashSlot(groupByHashSlot(counters, transport), 0);
}
