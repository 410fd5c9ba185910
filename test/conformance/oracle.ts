import type { Charged, Decision, Limit, LimitState } from "@headgate/core";
import type { Account, Definition } from "./oracle-account.ts";
import { definitionOf, nameOf } from "./oracle-definition.ts";

/** The longest time that is reported, in microseconds: 285 years, a little below 2^53. What takes longer is reported as this. */
const LONGEST = 9_007_199_254_740_000n;

/** Units that can be held of a limit. */
const MOST = 2_000_000_000n;

/** The subject of each dimension. */
export type SubjectOf = Readonly<Record<string, string>>;

/** A limiter by the book: exact, unbounded, slow. Times are integer microseconds and never step back. */
export class Oracle {
  readonly #keepsDrained: boolean;
  #rules: readonly Rule[];
  /** The rules of all numbers that were in force, by the limits that say them. */
  readonly #known = new Map<readonly Limit[], readonly Rule[]>();
  readonly #charges = new WeakMap<Decision, Charge>();
  /** The exact microseconds behind the last answer, where the state of something changes. */
  moments: bigint[] = [];

  /** `keepsDrained` as a world says; it matters only to whom `change` happens. */
  constructor(limits: readonly Limit[], keepsDrained = false) {
    this.#rules = limits.map((limit) => ruleOf(limit));
    this.#known.set(limits, this.#rules);
    this.#keepsDrained = keepsDrained;
  }

  /** Goes on by other numbers: limits of the same shapes in the same order. */
  change(limits: readonly Limit[]): void {
    const rules =
      this.#known.get(limits) ??
      limits.map((limit, i) => ({
        ...ruleOf(limit),
        accounts: (this.#rules[i] as Rule).accounts,
      }));
    this.#known.set(limits, rules);
    this.#rules = rules;
  }

  /** Decides, and charges unless `charge` is false or a limit denies. */
  decide(subjects: SubjectOf, cost: number, now: bigint, charge = true): Decision {
    const units = BigInt(cost);
    if (this.#keepsDrained) this.#pass(this.#rules, subjects, now);
    const accounts = this.#rules.map((rule) => accountOf(rule, subjects));
    const waits = this.#rules.map((rule, i) => untilFits(rule, accounts[i] as Account, cost, now));
    const allowed = waits.every((wait) => wait === 0n);
    if (allowed) {
      this.#rules.forEach((rule, i) => {
        if (!charge) accounts[i] = (accounts[i] as Account).copy();
        (accounts[i] as Account).charge(units, now);
        if (charge) keepAccount(rule, subjects, accounts[i] as Account);
      });
    }
    this.moments = [];
    const limits = this.#rules.map((rule, i) =>
      this.#stateOf(rule, accounts[i] as Account, waits[i], now),
    );
    const binding = bindingOf(limits, allowed);
    const { limit, remaining, retryAfterMs, resetAfterMs } = binding;
    const decision: Decision = {
      allowed,
      limit,
      remaining,
      retryAfterMs,
      resetAfterMs,
      limits,
      cost,
      source: "store",
      degraded: false,
      blocked: false,
      overridden: false,
      shadow: false,
      wouldAllow: allowed,
    };
    if (allowed && charge) this.#charges.set(decision, { rules: this.#rules, subjects, at: now });
    return decision;
  }

  /** Charges whatever is left, as far as it can be held. */
  charge(subjects: SubjectOf, cost: number, now: bigint): Charged {
    return this.#chargeBy(this.#rules, subjects, cost, now);
  }

  #chargeBy(rules: readonly Rule[], subjects: SubjectOf, cost: number, now: bigint): Charged {
    let cut = 0;
    for (const rule of rules) {
      const account = accountOf(rule, subjects);
      const room = MOST - (rule.definition.capacity - account.remaining(now));
      const units = BigInt(cost) < room ? BigInt(cost) : room;
      if (units > 0n) account.charge(units, now);
      else account.pass(now);
      keepAccount(rule, subjects, account);
      cut = Math.max(cut, cost - Number(units));
    }
    return { counted: cost - cut, cut, degraded: false };
  }

  /** Makes a decision cost so many units, by the numbers that it was made by. */
  settle(decision: Decision, units: number, now: bigint): Charged {
    const cost = Number(decision.cost);
    const charge = this.#charges.get(decision);
    if (charge === undefined) return { counted: 0, cut: 0, degraded: false };
    this.#charges.delete(decision);
    if (units > cost) {
      const more = this.#chargeBy(charge.rules, charge.subjects, units - cost, now);
      return { ...more, counted: cost + more.counted };
    }
    if (units < cost) this.#giveBack(charge, cost - units, now);
    return { counted: units, cut: 0, degraded: false };
  }

  /** Gives back what is left of a decision, by the numbers that it was made by; false when nothing is. */
  refund(decision: Decision, now: bigint): boolean {
    const charge = this.#charges.get(decision);
    if (charge === undefined) return false;
    this.#charges.delete(decision);
    return this.#giveBack(charge, Number(decision.cost), now);
  }

  #giveBack({ rules, subjects, at }: Charge, units: number, now: bigint): boolean {
    let isGiven = false;
    for (const dimension of new Set(rules.map(({ per }) => per))) {
      // The limits of a dimension are written together.
      const written = rules.filter(({ per }) => per === dimension);
      const accounts = written.map((rule) => accountOf(rule, subjects).copy());
      const given = accounts.map((account) => {
        account.pass(now);
        return account.refund(BigInt(units), at, now);
      });
      if (given.includes(true)) {
        written.forEach((rule, i) => {
          keepAccount(rule, subjects, accounts[i] as Account);
        });
        isGiven = true;
      } else if (this.#keepsDrained) {
        this.#pass(written, subjects, now);
      }
    }
    return isGiven;
  }

  /** Microseconds until a cost is admitted; undefined when it never is. */
  untilAdmitted(subjects: SubjectOf, cost: number, now: bigint): bigint | undefined {
    let longest = 0n;
    for (const rule of this.#rules) {
      const wait = untilFits(rule, accountOf(rule, subjects), cost, now);
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

  /** Forgets the subject of each dimension named. */
  reset(subjects: SubjectOf): void {
    for (const { per, accounts } of this.#rules) accounts.delete(subjects[per] ?? "");
  }

  #pass(rules: readonly Rule[], subjects: SubjectOf, now: bigint): void {
    for (const rule of rules) {
      if (!rule.accounts.has(subjects[rule.per] ?? "")) continue;
      const account = accountOf(rule, subjects);
      account.pass(now);
      keepAccount(rule, subjects, account);
    }
  }

  #stateOf(rule: Rule, account: Account, wait: bigint | undefined, now: bigint): LimitState {
    const { definition, name, per, limit, windowMs } = rule;
    const reset = account.untilUnused(now);
    const growth = account.untilGrowth(now);
    const left = Number(account.remaining(now));
    this.moments.push(reset, growth);
    if (wait !== undefined) this.moments.push(wait);
    return {
      name,
      per,
      limit,
      windowMs: definition.windowAt ? inMilliseconds(definition.windowAt(now)) : windowMs,
      allowed: wait === 0n,
      remaining: Math.max(0, left),
      overdrawn: Math.max(0, 0 - left),
      retryAfterMs: wait === undefined ? Number.POSITIVE_INFINITY : inMilliseconds(wait),
      resetAfterMs: inMilliseconds(reset),
      growsAfterMs: inMilliseconds(growth),
    };
  }
}

interface Rule {
  readonly definition: Definition;
  readonly name: string;
  readonly per: string;
  readonly limit: number;
  readonly windowMs: number;
  /** The accounts of all numbers that were in force, each by those by which it was written last. */
  readonly accounts: Map<string, KeptAccount>;
}

interface KeptAccount {
  readonly definition: Definition;
  readonly account: Account;
}

/** What a decision charged. */
interface Charge {
  readonly rules: readonly Rule[];
  readonly subjects: SubjectOf;
  /** Microseconds. */
  readonly at: bigint;
}

function ruleOf(limit: Limit): Rule {
  const definition = definitionOf(limit);
  return {
    definition,
    name: nameOf(limit),
    per: limit.per ?? "default",
    limit: Number(definition.capacity),
    windowMs: inMilliseconds(definition.window),
    accounts: new Map(),
  };
}

function accountOf({ definition, per, accounts }: Rule, subjects: SubjectOf): Account {
  const kept = accounts.get(subjects[per] ?? "");
  if (kept === undefined) return definition.open();
  return kept.definition === definition ? kept.account : definition.adopt(kept.account);
}

function keepAccount(
  { definition, per, accounts }: Rule,
  subjects: SubjectOf,
  account: Account,
): void {
  accounts.set(subjects[per] ?? "", { definition, account });
}

/** Undefined when a cost never fits. */
function untilFits(
  { definition }: Rule,
  account: Account,
  cost: number,
  now: bigint,
): bigint | undefined {
  const units = BigInt(cost);
  if (units === 0n) return 0n;
  return units > definition.capacity ? undefined : account.untilFits(units, now);
}

function inMilliseconds(microseconds: bigint): number {
  const reported = microseconds > LONGEST ? LONGEST : microseconds;
  return Number((reported + 999n) / 1_000n);
}

/** The longest wait when denied, the least share left when allowed; then the longer window, then the name. */
function bindingOf(limits: readonly LimitState[], allowed: boolean): LimitState {
  const [binding] = limits.toSorted(
    (a, b) =>
      (allowed ? compareShares(a, b) : compareWaits(a, b)) ||
      b.windowMs - a.windowMs ||
      (a.name < b.name ? -1 : 1),
  );
  return binding as LimitState;
}

function compareWaits(a: LimitState, b: LimitState): number {
  return a.retryAfterMs === b.retryAfterMs ? 0 : b.retryAfterMs - a.retryAfterMs;
}

function compareShares(a: LimitState, b: LimitState): number {
  const left = BigInt(a.remaining) * BigInt(b.limit);
  const right = BigInt(b.remaining) * BigInt(a.limit);
  return left === right ? 0 : left < right ? -1 : 1;
}
