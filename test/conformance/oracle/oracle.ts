import type { ChargeResult, Cost, Decision, Limit, LimitState } from "@headgate/core";
import type { Account } from "./account.ts";
import { bindingOf } from "./binding.ts";
import type { Blocking, OracleCounter } from "./counter.ts";
import type { Rule, SubjectOf } from "./rule.ts";
import { accountOf, counterOf, rulesOf, saveAccount, toMilliseconds, untilFits } from "./rule.ts";
import type { OracleSlots } from "./slots.ts";
import { SlotsAccount } from "./slots.ts";

export type { SubjectOf } from "./rule.ts";

/** The most units that a counter can hold. */
const MAX_UNITS = 2_000_000_000n;

/** The result of a charge to a policy that has concurrency limits only. */
const NOTHING_CHARGED: ChargeResult = { charged: 0, overflow: 0, degraded: false };

/** Options of a decision, apart from its cost. */
export interface DecideOptions {
  /** False for a peek. Default true. */
  readonly charges?: boolean;
  /** Shadow mode neither denies nor blocks. Default false. */
  readonly shadow?: boolean;
}

/** A limiter that computes exactly, without bounds, and slowly. Times are integer microseconds and never step back. */
export class Oracle {
  readonly #drainsOnRead: boolean;
  #rules: readonly Rule[];
  /** The rules of all limits that were in effect, by those limits. */
  readonly #known = new Map<readonly Limit[], readonly Rule[]>();
  readonly #charges = new WeakMap<Decision, ChargeRecord>();
  readonly #held = new WeakMap<Decision, ChargeRecord>();
  /** Microseconds from the last decision to each change of a limit's state. */
  changeTimes: bigint[] = [];

  /** `drainsOnRead` is that of the store under test. It matters only when `change` is called. */
  constructor(limits: readonly Limit[], drainsOnRead = false) {
    this.#rules = rulesOf(limits);
    this.#known.set(limits, this.#rules);
    this.#drainsOnRead = drainsOnRead;
  }

  /** Continues under other limits, which have the same shapes in the same order. */
  change(limits: readonly Limit[]): void {
    const rules = this.#known.get(limits) ?? rulesOf(limits, this.#rules);
    this.#known.set(limits, rules);
    this.#rules = rules;
  }

  /** Decides. A request is charged if all limits allow it, and may set a block if not; a peek does neither. */
  decide(subjects: SubjectOf, cost: Cost, now: bigint, options: DecideOptions = {}): Decision {
    const { charges = true, shadow = false } = options;
    const rules =
      typeof cost === "number"
        ? this.#rules
        : this.#rules.filter((rule) => unitsOf(rule, cost) > 0n);
    if (this.#drainsOnRead) this.#advance(rulesWrittenWith(this.#rules, rules), subjects, now);
    const requests = rules.map((rule): LimitRequest => {
      const account = accountOf(rule, subjects);
      const units = unitsOf(rule, cost);
      const wait = untilFits(rule, account, units, now);
      return { rule, counter: counterOf(rule, subjects), account, units, wait };
    });
    const allowed = requests.every(
      ({ wait, counter }) => wait === 0n && counter.blockedFor(now) === 0n,
    );
    const record = allowed && charges ? chargeLimits(requests, subjects, now) : undefined;
    if (allowed && !charges) for (const one of requests) previewCharge(one, now);
    if (!allowed && charges && !shadow) {
      const set = blockOnDenial(requests, now);
      for (const { rule, account } of set) {
        // A stored account lets time pass under the limits of each request, even if nothing is used.
        if (this.#drainsOnRead) saveAccount(rule, subjects, account);
        else rule.accounts.delete(subjects[rule.per] ?? "");
      }
    }
    this.changeTimes = [];
    const limits = requests.map((one) => this.#stateOf(one, requests, now));
    const binding = bindingOf(limits, allowed);
    const decision: Decision = {
      allowed: allowed || shadow,
      limit: binding.limit,
      remaining: binding.remaining,
      retryAfterMs: shadow ? 0 : binding.retryAfterMs,
      resetAfterMs: binding.resetAfterMs,
      limits,
      cost:
        typeof cost === "number"
          ? cost
          : Object.fromEntries(requests.map(({ rule, units }) => [rule.name, Number(units)])),
      source: "store",
      degraded: false,
      blocked: requests.some(({ counter }) => counter.blockedFor(now) > 0n),
      overridden: false,
      shadow,
      wouldAllow: allowed,
    };
    if (record !== undefined) {
      if (record.charged.length > 0) this.#charges.set(decision, record);
      this.#held.set(decision, record);
    }
    return decision;
  }

  /** Charges regardless of the units left, up to MAX_UNITS. Concurrency limits are not charged. */
  charge(subjects: SubjectOf, cost: number, now: bigint): ChargeResult {
    const rules = this.#rules.filter(({ isConcurrency }) => !isConcurrency);
    return this.#chargeBy(rules, subjects, cost, now);
  }

  #chargeBy(rules: readonly Rule[], subjects: SubjectOf, cost: number, now: bigint): ChargeResult {
    if (rules.length === 0) return NOTHING_CHARGED;
    let overflow = 0;
    for (const rule of rules) {
      const account = accountOf(rule, subjects);
      const room = MAX_UNITS - (rule.definition.capacity - account.remaining(now));
      const units = BigInt(cost) < room ? BigInt(cost) : room;
      if (units > 0n) account.charge(units, now);
      else account.advance(now);
      saveAccount(rule, subjects, account);
      overflow = Math.max(overflow, cost - Number(units));
    }
    return { charged: cost - overflow, overflow, degraded: false };
  }

  /** Settles a decision, whose cost is a number, at `units`, under the limits of the decision. */
  settle(decision: Decision, units: number, now: bigint): ChargeResult {
    const cost = Number(decision.cost);
    const charge = this.#charges.get(decision);
    if (charge === undefined) return NOTHING_CHARGED;
    this.#charges.delete(decision);
    if (units > cost) {
      const rules = charge.charged.map(({ rule }) => rule);
      const more = this.#chargeBy(rules, charge.subjects, units - cost, now);
      return { ...more, charged: cost + more.charged };
    }
    if (units < cost) this.#refundUnits(charge, now, BigInt(cost - units));
    return { charged: units, overflow: 0, degraded: false };
  }

  /** Refunds the units of a decision that still count, under its limits. Returns false when none do. */
  refund(decision: Decision, now: bigint): boolean {
    const charge = this.#charges.get(decision);
    if (charge === undefined) return false;
    this.#charges.delete(decision);
    return this.#refundUnits(charge, now);
  }

  /** Refunds `less` units of each limit, or the whole charge, if the counter is still of the generation of the charge. */
  #refundUnits({ charged, subjects, at }: ChargeRecord, now: bigint, less?: bigint): boolean {
    let isRefunded = false;
    for (const counter of new Set(charged.map((one) => one.counter))) {
      // The limits of a counter are written together.
      const together = charged.filter((one) => one.counter === counter);
      const isOver = together.some(({ generation }) => generation !== counter.generation);
      const accounts = together.map(({ rule }) => accountOf(rule, subjects).copy());
      const refunds = together.map(({ units }, i) => {
        const account = accounts[i] as Account;
        account.advance(now);
        return !isOver && account.refund(less ?? units, at, now);
      });
      if (refunds.includes(true)) {
        together.forEach(({ rule }, i) => {
          saveAccount(rule, subjects, accounts[i] as Account);
        });
        isRefunded = true;
      } else if (this.#drainsOnRead) {
        this.#advance(
          together.map(({ rule }) => rule),
          subjects,
          now,
        );
      }
    }
    return isRefunded;
  }

  /** Releases the slots of a decision, once. Returns false if all of them had expired. */
  release(decision: Decision, now: bigint): boolean {
    const record = this.#held.get(decision);
    if (record === undefined) return false;
    this.#held.delete(decision);
    const wasHeld = record.slots.some((slots) => slots.isHeld(record, now));
    for (const slots of record.slots) slots.release(record);
    return wasHeld;
  }

  /** Sets a manual block of `span` microseconds. */
  block(subjects: SubjectOf, span: bigint, now: bigint): void {
    for (const counter of this.#counters(this.#rules, subjects)) counter.block(span, now);
  }

  /** Ends the blocks. Returns whether there was one. */
  unblock(subjects: SubjectOf, now: bigint): boolean {
    const counters = [...this.#counters(this.#rules, subjects)];
    return counters.map((counter) => counter.unblock(now)).includes(true);
  }

  #counters(rules: readonly Rule[], subjects: SubjectOf): Set<OracleCounter> {
    return new Set(rules.map((rule) => counterOf(rule, subjects)));
  }

  /** The most units, up to `upTo`, that would be admitted now; 0 if not even one would be. */
  mostAdmitted(subjects: SubjectOf, upTo: number, now: bigint): number {
    const isBlocked = [...this.#counters(this.#rules, subjects)].some(
      (counter) => counter.blockedFor(now) > 0n,
    );
    if (isBlocked) return 0;
    let [admitted, denied] = [0, upTo + 1];
    while (denied - admitted > 1) {
      const units = Math.floor((admitted + denied) / 2);
      if (this.untilAdmitted(subjects, units, now) === 0n) admitted = units;
      else denied = units;
    }
    return admitted;
  }

  /** Microseconds until a cost is admitted; undefined when it never fits. */
  untilAdmitted(subjects: SubjectOf, cost: number, now: bigint): bigint | undefined {
    let longest = 0n;
    for (const rule of this.#rules) {
      const wait = untilFits(rule, accountOf(rule, subjects), unitsOf(rule, cost), now);
      if (wait === undefined) return undefined;
      if (wait > longest) longest = wait;
    }
    return longest;
  }

  /** Applies the time that has passed, under the present limits, to some dimensions. */
  advance(dimensions: readonly string[], subjects: SubjectOf, now: bigint): void {
    const passed = this.#rules.filter(({ per }) => dimensions.includes(per));
    this.#advance(passed, subjects, now);
  }

  /** Resets the usage of the given subjects, and the blocks that limits have set. */
  reset(subjects: SubjectOf): void {
    const unitRules = this.#rules.filter(({ isConcurrency }) => !isConcurrency);
    for (const { per, accounts } of unitRules) accounts.delete(subjects[per] ?? "");
    for (const counter of this.#counters(unitRules, subjects)) counter.reset();
  }

  #advance(rules: readonly Rule[], subjects: SubjectOf, now: bigint): void {
    for (const rule of rules) {
      if (!rule.accounts.has(subjects[rule.per] ?? "")) continue;
      const account = accountOf(rule, subjects);
      account.advance(now);
      saveAccount(rule, subjects, account);
    }
  }

  #stateOf(one: LimitRequest, requests: readonly LimitRequest[], now: bigint): LimitState {
    const { rule, account, counter, units } = one;
    const { definition, name, per, limit, windowMs } = rule;
    const rest = counter.blockedFor(now);
    const setter = requests.find((other) => other.counter === counter && hasSetBlock(other));
    const isBlocked = rest > 0n && (setter === undefined || setter === one);
    // A peek of 0 units sees the units below a manual block.
    const isHidden = isBlocked && (setter === one || units > 0n);
    const wait = isBlocked ? laterOf(one.wait, rest) : one.wait;
    const reset = laterOf(account.untilReset(now), isHidden ? rest : 0n);
    const growth = laterOf(account.untilRefill(now), isHidden ? rest : 0n);
    const left = Number(account.remaining(now));
    const shown = isHidden ? Math.min(0, left) : left;
    this.changeTimes.push(reset, growth);
    if (wait !== undefined) this.changeTimes.push(wait);
    if (account instanceof SlotsAccount) this.changeTimes.push(...account.slots.expiries(now));
    return {
      name,
      per,
      limit,
      windowMs: definition.windowAt ? toMilliseconds(definition.windowAt(now)) : windowMs,
      allowed: wait === 0n,
      remaining: Math.max(0, shown),
      overdrawn: Math.max(0, 0 - shown),
      retryAfterMs: wait === undefined ? Number.POSITIVE_INFINITY : toMilliseconds(wait),
      resetAfterMs: toMilliseconds(reset),
      refillAfterMs: toMilliseconds(growth),
    };
  }
}

/** The part of a request that concerns one limit. */
interface LimitRequest {
  readonly rule: Rule;
  readonly counter: OracleCounter;
  readonly units: bigint;
  account: Account;
  /** Microseconds until the units fit; undefined when they never do. */
  wait: bigint | undefined;
}

/** The charge of a decision. The record itself is the holder of its slots. */
interface ChargeRecord {
  readonly subjects: SubjectOf;
  /** Microseconds. */
  readonly at: bigint;
  readonly charged: readonly ChargedLimit[];
  readonly slots: readonly OracleSlots[];
}

interface ChargedLimit {
  readonly rule: Rule;
  readonly counter: OracleCounter;
  readonly units: bigint;
  readonly generation: number;
}

/** The units that a cost requests of a limit: at most one slot, unless the cost is by name. */
function unitsOf({ name, isConcurrency }: Rule, cost: Cost): bigint {
  if (typeof cost !== "number") return BigInt(cost[name] ?? 1);
  return BigInt(isConcurrency ? Math.min(1, cost) : cost);
}

/** The rules of all counters that a request writes, including limits that a cost by name leaves out. */
function rulesWrittenWith(rules: readonly Rule[], requests: readonly Rule[]): readonly Rule[] {
  if (requests.length === rules.length) return rules;
  return rules.filter(({ counters }) => requests.some((one) => one.counters === counters));
}

/** Charges the requested units, and takes the slots. */
function chargeLimits(
  requests: readonly LimitRequest[],
  subjects: SubjectOf,
  now: bigint,
): ChargeRecord {
  const charged: ChargedLimit[] = [];
  const slots: OracleSlots[] = [];
  const record: ChargeRecord = { subjects, at: now, charged, slots };
  for (const { rule, counter, account, units } of requests) {
    saveAccount(rule, subjects, account);
    if (account instanceof SlotsAccount) {
      account.slots.hold(record, now, Number(units));
      slots.push(account.slots);
    } else {
      account.charge(units, now);
      charged.push({ rule, counter, units, generation: counter.generation });
    }
  }
  return record;
}

/** Applies the charge to a copy of the account, so that a peek reports the state after it. */
function previewCharge(one: LimitRequest, now: bigint): void {
  one.account = one.account.copy();
  if (one.units > 0n) one.account.charge(one.units, now);
}

/** Lets limits that denied a cost that fits them set blocks. Returns the limits that did, whose accounts start unused. */
function blockOnDenial(requests: readonly LimitRequest[], now: bigint): readonly LimitRequest[] {
  const set: LimitRequest[] = [];
  for (const counter of new Set(requests.map((one) => one.counter))) {
    if (counter.blockedFor(now) > 0n) continue;
    const denying = requests.filter((one) => one.counter === counter && (one.wait ?? 0n) > 0n);
    const blocking = new Map<number, Blocking>();
    for (const { rule } of denying) {
      if (rule.blocking !== undefined) blocking.set(rule.index, rule.blocking);
    }
    if (blocking.size === 0) continue;
    const setterIndex = counter.recordDenials(blocking, now);
    if (setterIndex === undefined) continue;
    const setter = denying.find(({ rule }) => rule.index === setterIndex) as LimitRequest;
    setter.account = setter.rule.definition.open();
    setter.wait = 0n;
    set.push(setter);
  }
  return set;
}

function hasSetBlock({ rule, counter }: LimitRequest): boolean {
  return rule.index === counter.setBy;
}

/** The later of two times from now, where undefined is never. */
function laterOf<Wait extends bigint | undefined>(one: Wait, other: bigint): Wait {
  return one === undefined || one > other ? one : (other as Wait);
}
