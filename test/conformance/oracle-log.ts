import type { Account, Definition } from "./oracle-account.ts";

/** `slidingLog`: everything charged in (now - window, now]. */
export function defineLog(limit: bigint, window: bigint): Definition {
  return {
    capacity: limit,
    window,
    open: () => new LogAccount(limit, window),
  };
}

interface Entry {
  readonly time: bigint;
  /** All units charged up to and including this entry. */
  readonly total: bigint;
}

class LogAccount implements Account {
  readonly #limit: bigint;
  readonly #window: bigint;
  #entries: Entry[] = [];
  /** How many entries at the head have left. */
  #left = 0;
  /** All units ever charged, and those of them that have left. */
  #total = 0n;
  #totalLeft = 0n;

  constructor(limit: bigint, window: bigint) {
    this.#limit = limit;
    this.#window = window;
  }

  untilFits(cost: bigint, now: bigint): bigint {
    this.#expire(now);
    if (this.#total - this.#totalLeft + cost <= this.#limit) return 0n;
    // The first entry after whose departure no more than limit - cost units are left.
    const entry = this.#firstWithTotal(this.#total + cost - this.#limit);
    return entry.time + this.#window - now;
  }

  remaining(now: bigint): bigint {
    this.#expire(now);
    return this.#limit - (this.#total - this.#totalLeft);
  }

  untilGrowth(now: bigint): bigint {
    this.#expire(now);
    const oldest = this.#entries[this.#left];
    return oldest === undefined ? 0n : oldest.time + this.#window - now;
  }

  untilUnused(now: bigint): bigint {
    this.#expire(now);
    const newest = this.#entries.at(-1);
    return newest === undefined || this.#left === this.#entries.length
      ? 0n
      : newest.time + this.#window - now;
  }

  charge(cost: bigint, now: bigint): void {
    this.#expire(now);
    this.#total += cost;
    this.#entries.push({ time: now, total: this.#total });
  }

  copy(): Account {
    const copy = new LogAccount(this.#limit, this.#window);
    copy.#entries = this.#entries.slice(this.#left);
    copy.#total = this.#total;
    copy.#totalLeft = this.#totalLeft;
    return copy;
  }

  #expire(now: bigint): void {
    for (;;) {
      const oldest = this.#entries[this.#left];
      if (oldest === undefined || oldest.time > now - this.#window) break;
      this.#left += 1;
      this.#totalLeft = oldest.total;
    }
    if (this.#left > 1_000 && this.#left * 2 > this.#entries.length) {
      this.#entries = this.#entries.slice(this.#left);
      this.#left = 0;
    }
  }

  #firstWithTotal(total: bigint): Entry {
    let low = this.#left;
    let high = this.#entries.length - 1;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#entries[middle] as Entry).total >= total) high = middle;
      else low = middle + 1;
    }
    return this.#entries[low] as Entry;
  }
}
