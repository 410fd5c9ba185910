import type { ConcurrencyLimit, LimitState } from "@headgate/core";
import type { Account, Definition } from "./account.ts";

/** The reported wait of a denial, in microseconds: the time of the next release is unknown. */
const RETRY_US = 1_000_000n;

/** Whether a reported state is that of a concurrency limit. */
export function isConcurrencyState({ windowMs }: Pick<LimitState, "windowMs">): boolean {
  return windowMs === 0;
}

/** The slots of a concurrency limit, with their holders and expiry times in whole microseconds. */
export class OracleSlots {
  readonly #ttl: bigint;
  readonly #held = new Map<unknown, { readonly until: bigint; readonly number: number }>();

  /** `ttl` is the time in microseconds for which a slot is held without a renewal. */
  constructor(ttl: bigint) {
    this.#ttl = ttl;
  }

  /** The number of held slots. */
  countHeld(now: bigint): number {
    let count = 0;
    for (const [holder, { until, number }] of this.#held) {
      if (until > now) count += number;
      else this.#held.delete(holder);
    }
    return count;
  }

  /** Takes slots, or renews those of the holder. */
  hold(holder: unknown, now: bigint, number = 1): void {
    this.#held.set(holder, { until: now + this.#ttl, number });
  }

  isHeld(holder: unknown, now: bigint): boolean {
    return (this.#held.get(holder)?.until ?? 0n) > now;
  }

  release(holder: unknown): void {
    this.#held.delete(holder);
  }

  /** Microseconds until each of the slots expires. */
  expiries(now: bigint): bigint[] {
    return [...this.#held.values()].map(({ until }) => until - now).filter((rest) => rest > 0n);
  }

  copy(): OracleSlots {
    const copy = new OracleSlots(this.#ttl);
    for (const [holder, held] of this.#held) copy.#held.set(holder, held);
    return copy;
  }
}

/** Defines `concurrency`: each subject holds at most `limit` slots. */
export function defineConcurrency(limit: ConcurrencyLimit, ttl: bigint): Definition {
  const capacity = BigInt(limit.limit);
  return {
    capacity,
    window: 0n,
    open: () => new SlotsAccount(capacity, new OracleSlots(ttl)),
    adopt: (account) => new SlotsAccount(capacity, (account as SlotsAccount).slots),
  };
}

/** The account of a concurrency limit. A charge takes slots for an anonymous holder; `slots` knows the others. */
export class SlotsAccount implements Account {
  readonly #limit: bigint;
  readonly slots: OracleSlots;

  constructor(limit: bigint, slots: OracleSlots) {
    this.#limit = limit;
    this.slots = slots;
  }

  untilFits(cost: bigint, now: bigint): bigint {
    return cost <= this.remaining(now) ? 0n : RETRY_US;
  }

  remaining(now: bigint): bigint {
    return this.#limit - BigInt(this.slots.countHeld(now));
  }

  untilRefill(): bigint {
    return 0n;
  }

  untilReset(): bigint {
    return 0n;
  }

  charge(cost: bigint, now: bigint): void {
    this.slots.hold(Symbol("anonymous"), now, Number(cost));
  }

  refund(): boolean {
    return false;
  }

  advance(): void {}

  copy(): Account {
    return new SlotsAccount(this.#limit, this.slots.copy());
  }
}
