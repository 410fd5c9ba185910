import type { ChargeResult, CostByName, Decision, Limit, LimitState } from "@headgate/core";
import { nameOf } from "./definition.ts";
import type { SubjectOf } from "./oracle.ts";
import { Oracle } from "./oracle.ts";

const LOOK = { charges: false } as const;

/** What a decision with a cost by name says, but the binding limit, which depends on its limits only. */
export interface NamedAnswer {
  readonly allowed: boolean;
  readonly cost: CostByName;
  readonly limits: readonly LimitState[];
}

/** What a decision charged, and to whom. */
interface NamedCharge {
  readonly subjects: SubjectOf;
  /** Of each limit that was asked. */
  readonly decisions: ReadonlyMap<Oracle, Decision>;
}

/** A limiter by the book whose limits cost each its own: each limit is a limiter of one. */
export class NamedOracle {
  readonly #oracles: readonly (readonly [name: string, oracle: Oracle])[];
  readonly #charges = new WeakMap<NamedAnswer, NamedCharge>();

  constructor(limits: readonly Limit[]) {
    this.#oracles = limits.map((limit) => [nameOf(limit), new Oracle([limit])]);
  }

  /** The exact microseconds behind the last answer, where the state of something changes. */
  get moments(): bigint[] {
    return this.#oracles.flatMap(([, oracle]) => oracle.moments);
  }

  decide(subjects: SubjectOf, cost: CostByName, now: bigint, charge: boolean): NamedAnswer {
    const asked = this.#asked(cost);
    const peeked = asked.map(([, oracle, units]) => oracle.decide(subjects, units, now, LOOK));
    const allowed = peeked.every((decision) => decision.allowed);
    const decisions = peeked.map((decision, i) => {
      const [, oracle, units] = asked[i] as (typeof asked)[number];
      if (allowed && charge) return oracle.decide(subjects, units, now);
      // What would have allowed is reported as it is, when another limit denies.
      return allowed || !decision.allowed ? decision : asItIs(oracle, subjects, now);
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
    return joined(
      this.#asked(cost).map(([name, oracle, units]) => [name, oracle.charge(subjects, units, now)]),
    );
  }

  settle(answer: NamedAnswer, units: CostByName, now: bigint): ChargeResult<CostByName> {
    const charge = this.#charges.get(answer);
    this.#charges.delete(answer);
    return joined(
      this.#oracles.map(([name, oracle]) => {
        const wanted = units[name] ?? answer.cost[name] ?? 0;
        const decision = charge?.decisions.get(oracle);
        if (charge === undefined) return [name, { charged: 0, overflow: 0, degraded: false }];
        if (decision !== undefined) return [name, oracle.settle(decision, wanted, now)];
        return [name, oracle.charge(charge.subjects, wanted, now)];
      }),
    );
  }

  refund(answer: NamedAnswer, now: bigint): boolean {
    const { decisions } = this.#charges.get(answer) as NamedCharge;
    this.#charges.delete(answer);
    return [...decisions].map(([oracle, one]) => oracle.refund(one, now)).includes(true);
  }

  isCharged(answer: NamedAnswer): boolean {
    return this.#charges.has(answer);
  }

  #asked(cost: CostByName): readonly (readonly [name: string, oracle: Oracle, units: number])[] {
    return this.#oracles
      .map(([name, oracle]) => [name, oracle, cost[name] ?? 1] as const)
      .filter(([, , units]) => units > 0);
  }
}

/** How a limit is that would allow: what it says to a cost that never fits, but for that. */
function asItIs(oracle: Oracle, subjects: SubjectOf, now: bigint): Decision {
  const denied = oracle.decide(subjects, Number.MAX_SAFE_INTEGER, now, LOOK);
  const limits = denied.limits.map((state) => ({ ...state, allowed: true, retryAfterMs: 0 }));
  return { ...denied, limits };
}

function joined(
  charged: readonly (readonly [name: string, charged: ChargeResult])[],
): ChargeResult<CostByName> {
  return {
    charged: Object.fromEntries(charged.map(([name, { charged: counted }]) => [name, counted])),
    overflow: Object.fromEntries(charged.map(([name, { overflow }]) => [name, overflow])),
    degraded: false,
  };
}
