import type { ChargeResult, CostByName, Decision, Limit, LimitState } from "@headgate/core";
import { nameOf } from "./definition.ts";
import type { SubjectOf } from "./oracle.ts";
import { Oracle } from "./oracle.ts";

const PEEK = { charges: false } as const;

/** What a decision with a cost by name says, but the binding limit, which depends on its limits only. */
export interface DecisionByName {
  readonly allowed: boolean;
  readonly cost: CostByName;
  readonly limits: readonly LimitState[];
}

/** What a decision charged, and to whom. */
interface ChargeByName {
  readonly subjects: SubjectOf;
  /** Of each limit that was asked. */
  readonly decisions: ReadonlyMap<Oracle, Decision>;
}

/** A limiter by the book whose limits cost each its own: each limit is a limiter of one. */
export class OracleByName {
  readonly #oracles: readonly (readonly [name: string, oracle: Oracle])[];
  readonly #charges = new WeakMap<DecisionByName, ChargeByName>();

  constructor(limits: readonly Limit[]) {
    this.#oracles = limits.map((limit) => [nameOf(limit), new Oracle([limit])]);
  }

  /** The exact microseconds behind the last answer, where the state of something changes. */
  get changeTimes(): bigint[] {
    return this.#oracles.flatMap(([, oracle]) => oracle.changeTimes);
  }

  decide(subjects: SubjectOf, cost: CostByName, now: bigint, charge: boolean): DecisionByName {
    const asked = this.#asked(cost);
    const peeked = asked.map(([, oracle, units]) => oracle.decide(subjects, units, now, PEEK));
    const allowed = peeked.every((decision) => decision.allowed);
    const decisions = peeked.map((decision, i) => {
      const [, oracle, units] = asked[i] as (typeof asked)[number];
      if (allowed && charge) return oracle.decide(subjects, units, now);
      // What would have allowed is reported as it is, when another limit denies.
      return allowed || !decision.allowed ? decision : stateIfAllowed(oracle, subjects, now);
    });
    const answer = {
      allowed,
      cost: Object.fromEntries(asked.map(([name, , units]) => [name, units])),
      limits: decisions.flatMap(({ limits }) => limits),
    };
    if (allowed && charge) {
      const charged = new Map(asked.map(([, oracle], i) => [oracle, decisions[i] as Decision]));
      this.#charges.set(answer, { subjects, decisions: charged });
    }
    return answer;
  }

  charge(subjects: SubjectOf, cost: CostByName, now: bigint): ChargeResult<CostByName> {
    return joinResults(
      this.#asked(cost).map(([name, oracle, units]) => [name, oracle.charge(subjects, units, now)]),
    );
  }

  settle(answer: DecisionByName, units: CostByName, now: bigint): ChargeResult<CostByName> {
    const charge = this.#charges.get(answer);
    this.#charges.delete(answer);
    return joinResults(
      this.#oracles.map(([name, oracle]) => {
        const wanted = units[name] ?? answer.cost[name] ?? 0;
        const decision = charge?.decisions.get(oracle);
        if (charge === undefined) return [name, { charged: 0, overflow: 0, degraded: false }];
        if (decision !== undefined) return [name, oracle.settle(decision, wanted, now)];
        return [name, oracle.charge(charge.subjects, wanted, now)];
      }),
    );
  }

  refund(answer: DecisionByName, now: bigint): boolean {
    const { decisions } = this.#charges.get(answer) as ChargeByName;
    this.#charges.delete(answer);
    return [...decisions].map(([oracle, one]) => oracle.refund(one, now)).includes(true);
  }

  isCharged(answer: DecisionByName): boolean {
    return this.#charges.has(answer);
  }

  #asked(cost: CostByName): readonly (readonly [name: string, oracle: Oracle, units: number])[] {
    return this.#oracles
      .map(([name, oracle]) => [name, oracle, cost[name] ?? 1] as const)
      .filter(([, , units]) => units > 0);
  }
}

/** How a limit is that would allow: what it says to a cost that never fits, but for that. */
function stateIfAllowed(oracle: Oracle, subjects: SubjectOf, now: bigint): Decision {
  const denied = oracle.decide(subjects, Number.MAX_SAFE_INTEGER, now, PEEK);
  const limits = denied.limits.map((state) => ({ ...state, allowed: true, retryAfterMs: 0 }));
  return { ...denied, limits };
}

function joinResults(
  charged: readonly (readonly [name: string, charged: ChargeResult])[],
): ChargeResult<CostByName> {
  return {
    charged: Object.fromEntries(charged.map(([name, { charged: counted }]) => [name, counted])),
    overflow: Object.fromEntries(charged.map(([name, { overflow }]) => [name, overflow])),
    degraded: false,
  };
}
