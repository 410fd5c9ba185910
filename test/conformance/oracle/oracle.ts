import type { ChargeResult, Cost, Decision, Limit, LimitState } from "@headgate/core";
import type { Account } from "./account.ts";
import { bindingOf } from "./binding.ts";
import type { Blocking, OracleCounter } from "./counter.ts";
import type { Rule, SubjectOf } from "./rule.ts";
import { accountOf, counterOf, inMilliseconds, keepAccount, rulesOf, untilFits } from "./rule.ts";
import type { OraclePlaces } from "./slots.ts";
import { PlacesAccount } from "./slots.ts";

export type { SubjectOf } from "./rule.ts";

/** Units that can be held of a limit. */
const MOST = 2_000_000_000n;

/** What can never be used: of a policy that counts places only. */
const NOTHING: ChargeResult = { charged: 0, overflow: 0, degraded: false };

/** How a request is decided, beside what it costs. */
export interface Asking {
  /** False for a look. Default true. */
  readonly charges?: boolean;
  /** In shadow nobody is denied, nor blocked. Default false. */
  readonly shadow?: boolean;
}

/** A limiter by the book: exact, unbounded, slow. Times are integer microseconds and never step back. */
export class Oracle {
  readonly #keepsDrained: boolean;
  #rules: readonly Rule[];
  /** The rules of all numbers that were in force, by the limits that say them. */
  readonly #known = new Map<readonly Limit[], readonly Rule[]>();
  readonly #charges = new WeakMap<Decision, Spent>();
  readonly #held = new WeakMap<Decision, Spent>();
  /** The exact microseconds behind the last answer, where the state of something changes. */
  moments: bigint[] = [];

  /** `keepsDrained` as a world says; it matters only to whom `change` happens. */
  constructor(limits: readonly Limit[], keepsDrained = false) {
    this.#rules = rulesOf(limits);
    this.#known.set(limits, this.#rules);
    this.#keepsDrained = keepsDrained;
  }

  /** Goes on by other numbers: limits of the same shapes in the same order. */
  change(limits: readonly Limit[]): void {
    const rules = this.#known.get(limits) ?? rulesOf(limits, this.#rules);
    this.#known.set(limits, rules);
    this.#rules = rules;
  }

  /** Decides, and charges if no limit denies, or blocks; unless it is a look. */
  decide(subjects: SubjectOf, cost: Cost, now: bigint, asking: Asking = {}): Decision {
    const { charges = true, shadow = false } = asking;
    const rules =
      typeof cost === "number"
        ? this.#rules
        : this.#rules.filter((rule) => unitsOf(rule, cost) > 0n);
    if (this.#keepsDrained) this.#pass(writtenWith(this.#rules, rules), subjects, now);
    const asked = rules.map((rule): Asked => {
      const account = accountOf(rule, subjects);
      const units = unitsOf(rule, cost);
      const wait = untilFits(rule, account, units, now);
      return { rule, counter: counterOf(rule, subjects), account, units, wait };
    });
    const allowed = asked.every(({ wait, counter }) => wait === 0n && counter.rest(now) === 0n);
    const spent = allowed && charges ? spend(asked, subjects, now) : undefined;
    if (allowed && !charges) for (const one of asked) foretell(one, now);
    if (!allowed && charges && !shadow) {
      const set = blockOnDenial(asked, now);
      for (const { rule, account } of set) {
        // A subject that has used nothing yet lets time pass by whatever numbers ask meanwhile, too, if it is there.
        if (this.#keepsDrained) keepAccount(rule, subjects, account);
        else rule.accounts.delete(subjects[rule.per] ?? "");
      }
    }
    this.moments = [];
    const limits = asked.map((one) => this.#stateOf(one, asked, now));
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
          : Object.fromEntries(asked.map(({ rule, units }) => [rule.name, Number(units)])),
      source: "store",
      degraded: false,
      blocked: asked.some(({ counter }) => counter.rest(now) > 0n),
      overridden: false,
      shadow,
      wouldAllow: allowed,
    };
    if (spent !== undefined) {
      if (spent.charged.length > 0) this.#charges.set(decision, spent);
      this.#held.set(decision, spent);
    }
    return decision;
  }

  /** Charges whatever is left, as far as it can be held. Places are not charged. */
  charge(subjects: SubjectOf, cost: number, now: bigint): ChargeResult {
    const rules = this.#rules.filter(({ isOfPlaces }) => !isOfPlaces);
    return this.#chargeBy(rules, subjects, cost, now);
  }

  #chargeBy(rules: readonly Rule[], subjects: SubjectOf, cost: number, now: bigint): ChargeResult {
    if (rules.length === 0) return NOTHING;
    let overflow = 0;
    for (const rule of rules) {
      const account = accountOf(rule, subjects);
      const room = MOST - (rule.definition.capacity - account.remaining(now));
      const units = BigInt(cost) < room ? BigInt(cost) : room;
      if (units > 0n) account.charge(units, now);
      else account.pass(now);
      keepAccount(rule, subjects, account);
      overflow = Math.max(overflow, cost - Number(units));
    }
    return { charged: cost - overflow, overflow, degraded: false };
  }

  /** Makes a decision, whose cost is not by name, cost so many units, by the numbers that it was made by. */
  settle(decision: Decision, units: number, now: bigint): ChargeResult {
    const cost = Number(decision.cost);
    const charge = this.#charges.get(decision);
    if (charge === undefined) return NOTHING;
    this.#charges.delete(decision);
    if (units > cost) {
      const rules = charge.charged.map(({ rule }) => rule);
      const more = this.#chargeBy(rules, charge.subjects, units - cost, now);
      return { ...more, charged: cost + more.charged };
    }
    if (units < cost) this.#giveBack(charge, now, BigInt(cost - units));
    return { charged: units, overflow: 0, degraded: false };
  }

  /** Gives back what is left of a decision, by the numbers that it was made by; false when nothing is. */
  refund(decision: Decision, now: bigint): boolean {
    const charge = this.#charges.get(decision);
    if (charge === undefined) return false;
    this.#charges.delete(decision);
    return this.#giveBack(charge, now);
  }

  /** So many units of each limit, or all that was charged; only to the generation that was charged. */
  #giveBack({ charged, subjects, at }: Spent, now: bigint, less?: bigint): boolean {
    let isGiven = false;
    for (const counter of new Set(charged.map((one) => one.counter))) {
      // The limits of a counter are written together.
      const together = charged.filter((one) => one.counter === counter);
      const isOver = together.some(({ generation }) => generation !== counter.generation);
      const accounts = together.map(({ rule }) => accountOf(rule, subjects).copy());
      const given = together.map(({ units }, i) => {
        const account = accounts[i] as Account;
        account.pass(now);
        return !isOver && account.refund(less ?? units, at, now);
      });
      if (given.includes(true)) {
        together.forEach(({ rule }, i) => {
          keepAccount(rule, subjects, accounts[i] as Account);
        });
        isGiven = true;
      } else if (this.#keepsDrained) {
        this.#pass(
          together.map(({ rule }) => rule),
          subjects,
          now,
        );
      }
    }
    return isGiven;
  }

  /** Gives back the places of a decision, once; false when none of them was held any more. */
  release(decision: Decision, now: bigint): boolean {
    const spent = this.#held.get(decision);
    if (spent === undefined) return false;
    this.#held.delete(decision);
    const wasHeld = spent.places.some((places) => places.isHeld(spent, now));
    for (const places of spent.places) places.leave(spent);
    return wasHeld;
  }

  /** Blocks by hand, for so many microseconds. */
  block(subjects: SubjectOf, span: bigint, now: bigint): void {
    for (const counter of this.#counters(this.#rules, subjects)) counter.block(span, now);
  }

  /** True when one of them was blocked. */
  unblock(subjects: SubjectOf, now: bigint): boolean {
    const counters = [...this.#counters(this.#rules, subjects)];
    return counters.map((counter) => counter.unblock(now)).includes(true);
  }

  #counters(rules: readonly Rule[], subjects: SubjectOf): Set<OracleCounter> {
    return new Set(rules.map((rule) => counterOf(rule, subjects)));
  }

  /** Microseconds until a cost is admitted; undefined when it never is. */
  untilAdmitted(subjects: SubjectOf, cost: number, now: bigint): bigint | undefined {
    let longest = 0n;
    for (const rule of this.#rules) {
      const wait = untilFits(rule, accountOf(rule, subjects), unitsOf(rule, cost), now);
      if (wait === undefined) return undefined;
      if (wait > longest) longest = wait;
    }
    return longest;
  }

  /** Lets time pass by the present numbers in some dimensions, whichever will be asked next. */
  pass(dimensions: readonly string[], subjects: SubjectOf, now: bigint): void {
    const passed = this.#rules.filter(({ per }) => dimensions.includes(per));
    this.#pass(passed, subjects, now);
  }

  /** Forgets what the subject of each dimension named has used, and blocks that limits have set. */
  reset(subjects: SubjectOf): void {
    const ofUnits = this.#rules.filter(({ isOfPlaces }) => !isOfPlaces);
    for (const { per, accounts } of ofUnits) accounts.delete(subjects[per] ?? "");
    for (const counter of this.#counters(ofUnits, subjects)) counter.reset();
  }

  #pass(rules: readonly Rule[], subjects: SubjectOf, now: bigint): void {
    for (const rule of rules) {
      if (!rule.accounts.has(subjects[rule.per] ?? "")) continue;
      const account = accountOf(rule, subjects);
      account.pass(now);
      keepAccount(rule, subjects, account);
    }
  }

  #stateOf(one: Asked, asked: readonly Asked[], now: bigint): LimitState {
    const { rule, account, counter, units } = one;
    const { definition, name, per, limit, windowMs } = rule;
    const rest = counter.rest(now);
    const setter = asked.find((other) => other.counter === counter && isSetter(other));
    const isBlocked = rest > 0n && (setter === undefined || setter === one);
    // By hand, a look sees what is below the block.
    const isHidden = isBlocked && (setter === one || units > 0n);
    const wait = isBlocked ? later(one.wait, rest) : one.wait;
    const reset = later(account.untilUnused(now), isHidden ? rest : 0n);
    const growth = later(account.untilGrowth(now), isHidden ? rest : 0n);
    const left = Number(account.remaining(now));
    const shown = isHidden ? Math.min(0, left) : left;
    this.moments.push(reset, growth);
    if (wait !== undefined) this.moments.push(wait);
    if (account instanceof PlacesAccount) this.moments.push(...account.places.lapses(now));
    return {
      name,
      per,
      limit,
      windowMs: definition.windowAt ? inMilliseconds(definition.windowAt(now)) : windowMs,
      allowed: wait === 0n,
      remaining: Math.max(0, shown),
      overdrawn: Math.max(0, 0 - shown),
      retryAfterMs: wait === undefined ? Number.POSITIVE_INFINITY : inMilliseconds(wait),
      resetAfterMs: inMilliseconds(reset),
      refillAfterMs: inMilliseconds(growth),
    };
  }
}

/** A limit that a request asks. */
interface Asked {
  readonly rule: Rule;
  readonly counter: OracleCounter;
  readonly units: bigint;
  account: Account;
  /** Microseconds; undefined when it never fits. */
  wait: bigint | undefined;
}

/** What a decision took, and who holds its places: the record itself. */
interface Spent {
  readonly subjects: SubjectOf;
  /** Microseconds. */
  readonly at: bigint;
  readonly charged: readonly ChargedLimit[];
  readonly places: readonly OraclePlaces[];
}

interface ChargedLimit {
  readonly rule: Rule;
  readonly counter: OracleCounter;
  readonly units: bigint;
  readonly generation: number;
}

/** What a limit is asked for: one place, unless the cost is by name. */
function unitsOf({ name, isOfPlaces }: Rule, cost: Cost): bigint {
  if (typeof cost !== "number") return BigInt(cost[name] ?? 1);
  return BigInt(isOfPlaces ? Math.min(1, cost) : cost);
}

/** Those that are written when some are asked: also what a cost by name leaves out. */
function writtenWith(rules: readonly Rule[], asked: readonly Rule[]): readonly Rule[] {
  if (asked.length === rules.length) return rules;
  return rules.filter(({ counters }) => asked.some((one) => one.counters === counters));
}

/** Charges what was asked, and takes the places. */
function spend(asked: readonly Asked[], subjects: SubjectOf, now: bigint): Spent {
  const charged: ChargedLimit[] = [];
  const places: OraclePlaces[] = [];
  const spent: Spent = { subjects, at: now, charged, places };
  for (const { rule, counter, account, units } of asked) {
    keepAccount(rule, subjects, account);
    if (account instanceof PlacesAccount) {
      account.places.hold(spent, now, Number(units));
      places.push(account.places);
    } else {
      account.charge(units, now);
      charged.push({ rule, counter, units, generation: counter.generation });
    }
  }
  return spent;
}

/** How a limit will be when it has been charged. */
function foretell(one: Asked, now: bigint): void {
  one.account = one.account.copy();
  if (one.units > 0n) one.account.charge(one.units, now);
}

/** Limits that denied what fits them block their counters. Returns those that set a block, which start as if unused. */
function blockOnDenial(asked: readonly Asked[], now: bigint): readonly Asked[] {
  const set: Asked[] = [];
  for (const counter of new Set(asked.map((one) => one.counter))) {
    if (counter.rest(now) > 0n) continue;
    const denying = asked.filter((one) => one.counter === counter && (one.wait ?? 0n) > 0n);
    const blocking = new Map<number, Blocking>();
    for (const { rule } of denying) {
      if (rule.blocking !== undefined) blocking.set(rule.place, rule.blocking);
    }
    if (blocking.size === 0) continue;
    const place = counter.deny(blocking, now);
    if (place === undefined) continue;
    const setter = denying.find(({ rule }) => rule.place === place) as Asked;
    setter.account = setter.rule.definition.open();
    setter.wait = 0n;
    set.push(setter);
  }
  return set;
}

function isSetter({ rule, counter }: Asked): boolean {
  return rule.place === counter.setBy;
}

/** The later of two times from now; what never comes, never does. */
function later<Wait extends bigint | undefined>(one: Wait, other: bigint): Wait {
  return one === undefined || one > other ? one : (other as Wait);
}
