import type { Account, Definition } from "./account.ts";

interface Windows {
  readonly limit: bigint;
  /** Microseconds. */
  readonly window: bigint;
  readonly align: "first" | "clock";
}

/** Defines `fixedWindow`: a count that ends with its window, [start, start + window). */
export function defineFixedWindow(windows: Windows): Definition {
  return {
    capacity: windows.limit,
    window: windows.window,
    open: () => new FixedWindowAccount(windows),
    adopt: (account) => (account as FixedWindowAccount).copyBy(windows),
  };
}

class FixedWindowAccount implements Account {
  readonly #windows: Windows;
  #used = 0n;
  #end = 0n;

  constructor(windows: Windows) {
    this.#windows = windows;
  }

  untilFits(cost: bigint, now: bigint): bigint {
    return this.#usedAt(now) + cost <= this.#windows.limit ? 0n : this.#end - now;
  }

  remaining(now: bigint): bigint {
    return this.#windows.limit - this.#usedAt(now);
  }

  untilRefill(now: bigint): bigint {
    return this.untilReset(now);
  }

  untilReset(now: bigint): bigint {
    return this.#usedAt(now) === 0n ? 0n : this.#end - now;
  }

  charge(cost: bigint, now: bigint): void {
    const { align, window } = this.#windows;
    if (this.#usedAt(now) === 0n) {
      this.#used = 0n;
      this.#end = (align === "clock" ? now - (now % window) : now) + window;
    }
    this.#used += cost;
  }

  refund(cost: bigint, charged: bigint, now: bigint): boolean {
    if (this.#usedAt(now) === 0n || charged < this.#end - this.#windows.window) return false;
    this.#used = this.#used > cost ? this.#used - cost : 0n;
    return true;
  }

  advance(): void {}

  copy(): Account {
    return this.copyBy(this.#windows);
  }

  copyBy(windows: Windows): FixedWindowAccount {
    const copy = new FixedWindowAccount(windows);
    copy.#used = this.#used;
    copy.#end = this.#end;
    return copy;
  }

  #usedAt(now: bigint): bigint {
    return now < this.#end ? this.#used : 0n;
  }
}
