import type { Account, Definition } from "./account.ts";
import { ceilDivide, clampToZero } from "./account.ts";

interface SubWindows {
  readonly limit: bigint;
  readonly buckets: bigint;
  /** Microseconds of one sub-window. */
  readonly size: bigint;
}

interface ChargedSubWindow {
  readonly index: bigint;
  readonly count: bigint;
}

/** Defines `slidingWindow` with several buckets: the current sub-window and one earlier sub-window for each bucket. */
export function defineSubWindows(limit: bigint, window: bigint, buckets: bigint): Definition {
  const subWindows = { limit, buckets, size: ceilDivide(window, buckets) };
  return {
    capacity: limit,
    window,
    open: () => new SubWindowsAccount(subWindows, []),
    adopt: (account) => (account as SubWindowsAccount).copyBy(subWindows),
  };
}

class SubWindowsAccount implements Account {
  readonly #subWindows: SubWindows;
  /** The charged sub-windows, oldest first. */
  #charged: readonly ChargedSubWindow[];

  constructor(subWindows: SubWindows, charged: readonly ChargedSubWindow[]) {
    this.#subWindows = subWindows;
    this.#charged = charged;
  }

  untilFits(cost: bigint, now: bigint): bigint {
    const counted = this.#chargedInWindow(now);
    let excess = sum(counted) + cost - this.#subWindows.limit;
    if (excess <= 0n) return 0n;
    for (const charged of counted) {
      excess -= charged.count;
      if (excess <= 0n) return this.#expiresAt(charged) - now;
    }
    throw new RangeError("the cost is above the limit");
  }

  remaining(now: bigint): bigint {
    return this.#subWindows.limit - sum(this.#chargedInWindow(now));
  }

  untilRefill(now: bigint): bigint {
    if (this.#chargedInWindow(now).length === 0) return 0n;
    // A limit of 0 grows only when it is unused again.
    if (this.#subWindows.limit === 0n) return this.untilReset(now);
    return this.untilFits(clampToZero(this.remaining(now)) + 1n, now);
  }

  untilReset(now: bigint): bigint {
    const newest = this.#chargedInWindow(now).at(-1);
    return newest === undefined ? 0n : this.#expiresAt(newest) - now;
  }

  charge(cost: bigint, now: bigint): void {
    const index = now / this.#subWindows.size;
    const counted = this.#chargedInWindow(now);
    const newest = counted.at(-1);
    this.#charged =
      newest?.index === index
        ? [...counted.slice(0, -1), { index, count: newest.count + cost }]
        : [...counted, { index, count: cost }];
  }

  refund(cost: bigint, charged: bigint, now: bigint): boolean {
    const index = charged / this.#subWindows.size;
    const counted = this.#chargedInWindow(now);
    if (!counted.some((each) => each.index === index)) return false;
    this.#charged = counted
      .map((each) => (each.index === index ? { index, count: each.count - cost } : each))
      .filter(({ count }) => count > 0n);
    return true;
  }

  advance(): void {}

  copy(): Account {
    return this.copyBy(this.#subWindows);
  }

  copyBy(subWindows: SubWindows): SubWindowsAccount {
    return new SubWindowsAccount(subWindows, this.#charged);
  }

  #chargedInWindow(now: bigint): readonly ChargedSubWindow[] {
    const { buckets, size } = this.#subWindows;
    const oldest = now / size - buckets;
    return this.#charged.filter(({ index }) => index >= oldest);
  }

  #expiresAt({ index }: ChargedSubWindow): bigint {
    const { buckets, size } = this.#subWindows;
    return (index + buckets + 1n) * size;
  }
}

function sum(charged: readonly ChargedSubWindow[]): bigint {
  return charged.reduce((total, { count }) => total + count, 0n);
}
