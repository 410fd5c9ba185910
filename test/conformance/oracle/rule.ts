import type { Limit } from "@headgate/core";
import type { Account, Definition } from "./account.ts";
import type { Blocking } from "./counter.ts";
import { blockingOf, OracleCounter } from "./counter.ts";
import { definitionOf, nameOf } from "./definition.ts";

/** The subject of each dimension. */
export type SubjectOf = Readonly<Record<string, string>>;

/** One limit of a policy, and the accounts of its subjects. */
export interface Rule {
  /** The index of the limit in the policy. */
  readonly index: number;
  readonly definition: Definition;
  readonly name: string;
  readonly per: string;
  readonly limit: number;
  readonly windowMs: number;
  readonly isConcurrency: boolean;
  readonly blocking: Blocking | undefined;
  /** The account of each subject, under the definition that wrote it last. */
  readonly accounts: Map<string, SavedAccount>;
  /** The counter of each subject. The unit limits of a dimension share counters; a concurrency limit has its own. */
  readonly counters: Map<string, OracleCounter>;
}

interface SavedAccount {
  readonly definition: Definition;
  readonly account: Account;
}

/** The longest reported time, in microseconds: 285 years, a little below 2^53. Longer times are reported as this. */
const LONGEST = 9_007_199_254_740_000n;

/** The rules of a policy. They continue with the accounts of `before`. */
export function rulesOf(limits: readonly Limit[], before?: readonly Rule[]): readonly Rule[] {
  const counters = new Map<string, Map<string, OracleCounter>>();
  return limits.map((limit, index) => {
    const definition = definitionOf(limit);
    const per = limit.per ?? "default";
    const isConcurrency = limit.algorithm === "concurrency";
    const counterId = isConcurrency ? `${index}` : `units of ${per}`;
    counters.set(counterId, counters.get(counterId) ?? new Map());
    return {
      index,
      definition,
      name: nameOf(limit),
      per,
      limit: Number(definition.capacity),
      windowMs: toMilliseconds(definition.window),
      isConcurrency,
      blocking: blockingOf(limit, definition),
      accounts: before?.[index]?.accounts ?? new Map(),
      counters:
        before?.[index]?.counters ?? (counters.get(counterId) as Map<string, OracleCounter>),
    };
  });
}

export function accountOf({ definition, per, accounts }: Rule, subjects: SubjectOf): Account {
  const saved = accounts.get(subjects[per] ?? "");
  if (saved === undefined) return definition.open();
  return saved.definition === definition ? saved.account : definition.adopt(saved.account);
}

export function saveAccount(
  { definition, per, accounts }: Rule,
  subjects: SubjectOf,
  account: Account,
): void {
  accounts.set(subjects[per] ?? "", { definition, account });
}

/** The counter of a subject, created on first use. */
export function counterOf({ per, counters }: Rule, subjects: SubjectOf): OracleCounter {
  const subject = subjects[per] ?? "";
  const known = counters.get(subject);
  if (known !== undefined) return known;
  const counter = new OracleCounter();
  counters.set(subject, counter);
  return counter;
}

/** Microseconds until the units fit; undefined when they never do. */
export function untilFits(
  { definition }: Rule,
  account: Account,
  units: bigint,
  now: bigint,
): bigint | undefined {
  if (units === 0n) return 0n;
  return units > definition.capacity ? undefined : account.untilFits(units, now);
}

export function toMilliseconds(microseconds: bigint): number {
  const reported = microseconds > LONGEST ? LONGEST : microseconds;
  return Number((reported + 999n) / 1_000n);
}
