import type { ChargeResult, CostByName, Decision, Limit, LimitState } from "@headgate/core";
import { nameOf } from "./definition.ts";
import type { SubjectOf } from "./oracle.ts";
import { Oracle } from "./oracle.ts";

const PEEK = { charges: false } as const;

/** A decision with a cost by name, without the binding limit, which follows from its limits. */
export interface DecisionByName {
  readonly allowed: boolean;
  readonly cost: CostByName;
  readonly limits: readonly LimitState[];
}

/** The charges of a decision. */
interface ChargeByName {
  readonly subjects: SubjectOf;
  /** The decision of each limit that was charged. */
  readonly decisions: ReadonlyMap<Oracle, Decision>;
}

/** An exact limiter for costs by name. Each limit is an oracle of its own. */
export class OracleByName {
  readonly #oracles: readonly (readonly [name: string, oracle: Oracle])[];
  readonly #charges = new WeakMap<DecisionByName, ChargeByName>();

  constructor(limits: readonly Limit[]) {
    this.#oracles = limits.map((limit) => [nameOf(limit), new Oracle([limit])]);
  }

  /** Microseconds from the last decision to each change of a limit's state. */
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
      // When another limit denies, a limit that would allow reports its state without the charge.
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

/** The state of a limit that would allow: its state at a cost that never fits, without the denial. */
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
