import type { BreakerPolicy } from "../../packages/breaker/src/machine/breaker-policy.ts";
import type { BreakerState } from "../../packages/breaker/src/machine/period.ts";
import type { TargetKeys } from "../../packages/breaker/src/machine/target.ts";
import { STATES } from "../../packages/breaker/src/machine/wire.ts";
import { readBreakerOptions } from "../../packages/breaker/src/read-options.ts";
import type { Random } from "../conformance/random/random.ts";
import { claim } from "../conformance/support/claim.ts";
import { randomBreaker } from "./random-breaker.ts";
import type { Report } from "./random-calls.ts";

/** Positions in the reply of `syncTarget`; 0 is the clock. */
const STATE = 1;
const PERIOD = 2;
const LEFT = 3;
const ANSWER = 11;

/** Microseconds. */
const DAY = 86_400_000_000n;

/** The keys of a target in each of two stores. */
export type KeysOfPlaces = readonly [TargetKeys, TargetKeys];

/** The policies of a target's calls: mostly one, and two in a deploy. */
export function randomPolicies(random: Random): BreakerPolicy[] {
  return Array.from({ length: random.chance(0.7) ? 1 : 2 }, () => {
    return readBreakerOptions(randomBreaker(random).options).policy;
  });
}

/** A target in two stores, and the replies of both. */
export class RandomTarget {
  /** Its keys, for each of its policies. */
  readonly #keys: readonly KeysOfPlaces[];
  readonly names = [new Names(), new Names()] as const;
  reported: Report = { periods: [], leases: [], state: "closed" };
  #left = 0n;

  constructor(name: string, policies: readonly BreakerPolicy[]) {
    this.#keys = policies.map((policy) => [
      keysOf(`${name}-0`, policy),
      keysOf(`${name}-1`, policy),
    ]);
  }

  /** The keys for a random policy. */
  keys(random: Random): KeysOfPlaces {
    return random.pick(this.#keys);
  }

  /** The keys for a policy; undefined if the target does not use it. */
  keysBy(policy: BreakerPolicy): KeysOfPlaces | undefined {
    return this.#keys.find(([keys]) => keys.policy === policy);
  }

  /** Microseconds until something may change. */
  get moments(): bigint[] {
    const ofPolicies = this.#keys.flatMap(([{ policy }]) => {
      const { window, windowSize, leaseMicros } = policy;
      const length = window.kind === "time" ? BigInt(windowSize) : DAY;
      return [
        BigInt(leaseMicros),
        length / 50n,
        (length * 48n) / 50n,
        (length * 49n) / 50n,
        length,
      ];
    });
    return [this.#left, this.#left, ...ofPolicies, DAY, 6n * DAY];
  }

  /** Records the replies. Fails unless they are equal. */
  learn(replies: readonly [readonly number[], readonly number[]], explain: () => string): void {
    const [one, other] = [this.names[0].rename(replies[0]), this.names[1].rename(replies[1])];
    claim(
      one.length === other.length && one.every((number, i) => number === other[i]),
      () => `${one} and ${other}: ${explain()}`,
    );
    const [period, answer] = [one[PERIOD] as number, one[ANSWER] as number];
    const { periods, leases } = this.reported;
    this.reported = {
      state: STATES[one[STATE] as number] as BreakerState,
      periods: periods.includes(period) ? periods : [...periods, period],
      leases: answer > 0 ? [...leases, answer] : leases,
    };
    this.#left = BigInt(one[LEFT] as number);
  }
}

function keysOf(name: string, policy: TargetKeys["policy"]): TargetKeys {
  const shape = `${policy.window.kind}-${policy.windowSize}`;
  return { periodKey: `{${name}}`, windowKey: `{${name}}:${shape}`, policy };
}

/** Numbers the periods and leases of one store in the order of its replies. */
class Names {
  readonly #ids: number[] = [0];

  /** The store's id for a number; an unknown id for an unknown number. */
  readonly idOf = (number: number): number => this.#ids[number] ?? 12_345;

  rename(reply: readonly number[]): number[] {
    return reply.map((value, place) =>
      place === PERIOD || (place === ANSWER && value > 0) ? this.#numberOf(value) : value,
    );
  }

  #numberOf(id: number): number {
    const known = this.#ids.indexOf(id);
    return known === -1 ? this.#ids.push(id) - 1 : known;
  }
}
