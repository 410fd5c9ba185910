import type { Account, Definition } from "./account.ts";

/** Defines `slidingLog`: all units charged in (now - window, now]. */
export function defineLog(limit: bigint, window: bigint): Definition {
  return {
    capacity: limit,
    window,
    open: () => new LogAccount(limit, window),
    adopt: (account) => (account as LogAccount).copyBy(limit),
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
  /** The number of expired entries at the head. */
  #expired = 0;
  /** All units ever charged, and those of them that have expired. */
  #total = 0n;
  #expiredTotal = 0n;

  constructor(limit: bigint, window: bigint) {
    this.#limit = limit;
    this.#window = window;
  }

  untilFits(cost: bigint, now: bigint): bigint {
    this.#expire(now);
    if (this.#total - this.#expiredTotal + cost <= this.#limit) return 0n;
    // The first entry whose expiry leaves at most limit - cost units.
    const entry = this.#firstWithTotal(this.#total + cost - this.#limit);
    return entry.time + this.#window - now;
  }

  remaining(now: bigint): bigint {
    this.#expire(now);
    return this.#limit - (this.#total - this.#expiredTotal);
  }

  untilRefill(now: bigint): bigint {
    this.#expire(now);
    const used = this.#total - this.#expiredTotal;
    if (used === 0n) return 0n;
    // The first entry whose expiry leaves fewer units than the limit, and fewer than now.
    const most = minimum(used, this.#limit);
    return this.#firstWithTotal(this.#total - most + 1n).time + this.#window - now;
  }

  untilReset(now: bigint): bigint {
    this.#expire(now);
    const newest = this.#entries.at(-1);
    return newest === undefined || this.#expired === this.#entries.length
      ? 0n
      : newest.time + this.#window - now;
  }

  charge(cost: bigint, now: bigint): void {
    this.#expire(now);
    this.#total += cost;
    this.#entries.push({ time: now, total: this.#total });
  }

  refund(cost: bigint, charged: bigint, now: bigint): boolean {
    this.#expire(now);
    const before = (i: number) => this.#entries[i - 1]?.total ?? 0n;
    const { length } = this.#entries;
    let end = length;
    while (end > this.#expired && (this.#entries[end - 1] as Entry).time > charged) end -= 1;
    let start = end;
    while (start > this.#expired && (this.#entries[start - 1] as Entry).time === charged)
      start -= 1;
    const base = start > this.#expired ? before(start) : this.#expiredTotal;
    const left = before(end) - cost;
    if (start === end || left < base) return false;
    // Units charged at one time are interchangeable, so the newest entries go.
    const same = this.#entries
      .slice(start, end)
      .filter((_, i) => (i > 0 ? before(start + i) : base) < left)
      .map(({ time, total }) => ({ time, total: minimum(total, left) }));
    const newer = this.#entries
      .slice(end)
      .map(({ time, total }) => ({ time, total: total - cost }));
    this.#entries = [...this.#entries.slice(0, start), ...same, ...newer];
    this.#total -= cost;
    return true;
  }

  advance(): void {}

  copy(): Account {
    return this.copyBy(this.#limit);
  }

  copyBy(limit: bigint): LogAccount {
    const copy = new LogAccount(limit, this.#window);
    copy.#entries = this.#entries.slice(this.#expired);
    copy.#total = this.#total;
    copy.#expiredTotal = this.#expiredTotal;
    return copy;
  }

  #expire(now: bigint): void {
    for (;;) {
      const oldest = this.#entries[this.#expired];
      if (oldest === undefined || oldest.time > now - this.#window) break;
      this.#expired += 1;
      this.#expiredTotal = oldest.total;
    }
    if (this.#expired > 1_000 && this.#expired * 2 > this.#entries.length) {
      this.#entries = this.#entries.slice(this.#expired);
      this.#expired = 0;
    }
  }

  #firstWithTotal(total: bigint): Entry {
    let low = this.#expired;
    let high = this.#entries.length - 1;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#entries[middle] as Entry).total >= total) high = middle;
      else low = middle + 1;
    }
    return this.#entries[low] as Entry;
  }
}

function minimum(a: bigint, b: bigint): bigint {
  if (a < b) return a;
  return b;
}
