import { describe, expect, test } from "vitest";
import { compileLimit } from "../../algorithms/compile-limit.ts";
import { fixedWindow } from "../../algorithms/fixed-window.ts";
import { gcra } from "../../algorithms/gcra.ts";
import {
  closeAccount,
  deny,
  findLease,
  grant,
  leaseTime,
  lose,
  openAccount,
  receiptFor,
  returnToLease,
  spend,
  takeEnded,
  unitsLeft,
  wantMore,
  wantNext,
} from "./lease-book.ts";
import type { Lease, LeaseAccount } from "./leases.ts";

const rule = { max: 100, ttl: 1_000, share: 8 };

/** An account whose subject has been asked for at 0, when `room` units remained. */
function hotAccount(room = 1_000_000): LeaseAccount {
  return { ...openAccount(rule), room, requested: 0 };
}

function leaseOf(units: number, sent = 0, until = sent + rule.ttl): Lease {
  return {
    receipt: { cost: units, charged: 7, counters: [], generations: [1] },
    sent,
    until,
    left: units,
  };
}

/** Asks for a lease and is granted it; returns what was asked for. */
function take(account: LeaseAccount, now: number): number {
  const units = wantMore(account, 1, now);
  account.requesting = units;
  grant(account, leaseOf(units, now), account.room - units);
  return units;
}

function spendAll(account: LeaseAccount, now: number): void {
  for (let lease = findLease(account, 1, now); lease; lease = findLease(account, 1, now)) {
    spend(account, lease, 1);
  }
}

describe("how many units are asked for", () => {
  test("none for a subject that is asked for now and then", () => {
    const account = { ...openAccount(rule), room: 1_000 };
    expect([0, 251, 502, 753].map((now) => wantMore(account, 1, now))).toEqual([0, 0, 0, 0]);
    expect(wantMore(account, 1, 1_003)).toBe(2);
  });

  test("twice as many each time, while they are used up", () => {
    const account = hotAccount();
    const taken = [1, 2, 3, 4, 5, 6, 7].map((now) => {
      const units = take(account, now);
      spendAll(account, now);
      return units;
    });
    expect(taken).toEqual([2, 4, 8, 16, 32, 64, 100]);
  });

  test("enough for two requests like the one that asks, of what it leaves", () => {
    expect(wantMore(hotAccount(), 3, 1)).toBe(6);
    expect(wantMore(hotAccount(), 70, 1)).toBe(100);
    expect(wantMore(hotAccount(8 * 6 + 3), 3, 1)).toBe(6);
    expect(wantMore(hotAccount(8 * 6 + 2), 3, 1)).toBe(5);
  });

  test("none beside a request that they would not pay, or that what remains does not", () => {
    expect(wantMore(hotAccount(), 101, 1)).toBe(0);
    expect(wantMore(hotAccount(8 * 2 + 3), 3, 1)).toBe(0);
    expect(wantMore(hotAccount(40), 50, 1)).toBe(0);
  });

  test("half as many after a lease that ended with more than half of it", () => {
    const account = { ...hotAccount(), size: 16 };
    take(account, 0);
    spend(account, findLease(account, 7, 1) as Lease, 7);
    expect(takeEnded(account, 1_000)).toHaveLength(1);
    expect(account.size).toBe(8);
    account.requested = 1_000;
    take(account, 1_000);
    spend(account, findLease(account, 4, 1_001) as Lease, 4);
    takeEnded(account, 2_000);
    expect(account.size).toBe(8);
  });

  test("half as many after a denial", () => {
    const account = { ...hotAccount(), size: 16, requesting: 16 };
    deny(account, 1_000);
    expect(wantNext(account)).toBe(8);
  });

  test.each([
    [15, 0],
    [16, 2],
    [79, 9],
    [10_000, 64],
  ])("of %i that remain, %i", (room, units) => {
    expect(wantNext({ ...hotAccount(room), size: 64 })).toBe(units);
  });

  test("none while others are asked for, or when the store said nothing", () => {
    const account = hotAccount();
    account.requesting = 2;
    expect(wantNext(account)).toBe(0);
    lose(account);
    expect(wantNext(account)).toBe(0);
    account.room = 1_000;
    expect(wantNext(account)).toBe(2);
  });

  test("the next ones when a quarter is left, and never more than may be held", () => {
    const account = { ...hotAccount(), size: 100 };
    take(account, 0);
    spend(account, findLease(account, 74, 1) as Lease, 74);
    expect(wantNext(account)).toBe(0);
    spend(account, findLease(account, 1, 1) as Lease, 1);
    expect(wantNext(account)).toBe(75);
  });
});

describe("what is held", () => {
  test("is spent, the oldest first, until it is over", () => {
    const account = hotAccount();
    grant(account, leaseOf(3, 0, 500), 9);
    grant(account, leaseOf(5, 100, 900), 9);
    expect(findLease(account, 3, 499)?.receipt.cost).toBe(3);
    expect(findLease(account, 3, 500)?.receipt.cost).toBe(5);
    expect(findLease(account, 1, 900)).toBeUndefined();
  });

  test("pays a cost from one lease", () => {
    const account = hotAccount();
    grant(account, leaseOf(3), 9);
    grant(account, leaseOf(5), 9);
    expect(findLease(account, 4, 0)?.receipt.cost).toBe(5);
    expect(findLease(account, 6, 0)).toBeUndefined();
  });

  test("is not spent when the clock has stepped back to before it was asked for", () => {
    const account = hotAccount();
    grant(account, leaseOf(3, 100), 9);
    expect(findLease(account, 1, 99)).toBeUndefined();
    expect(takeEnded(account, 99)).toHaveLength(1);
  });

  test("is given back once, less what was spent", () => {
    const account = hotAccount();
    grant(account, leaseOf(8), 9);
    spend(account, findLease(account, 3, 0) as Lease, 3);
    expect(takeEnded(account, 999)).toEqual([]);
    const [ended] = takeEnded(account, 1_000) as [Lease];
    expect(receiptFor(ended, ended.left)).toMatchObject({ cost: 5, charged: 7, generations: [1] });
    expect(takeEnded(account, 1_000)).toEqual([]);
    expect(unitsLeft(account)).toBe(0);
  });

  test("is not spent any more once its subject is given up", () => {
    const account = hotAccount();
    grant(account, leaseOf(8), 9);
    expect(closeAccount(account)).toHaveLength(1);
    grant(account, leaseOf(8), 9);
    expect(findLease(account, 1, 0)).toBeUndefined();
    expect(wantNext(account)).toBe(0);
  });

  test("takes units back that were spent, while it is held", () => {
    const account = hotAccount();
    grant(account, leaseOf(4), 9);
    const lease = findLease(account, 1, 0) as Lease;
    spend(account, lease, 1);
    expect(returnToLease(account, lease, 1, 999)).toBe(true);
    expect(lease.left).toBe(4);
    spend(account, lease, 1);
    expect(returnToLease(account, lease, 1, 1_000)).toBe(false);
    spend(account, lease, 3);
    expect(returnToLease(account, lease, 1, 500)).toBe(false);
  });

  test("takes none back that would be too many, with those that are asked for", () => {
    const account = { ...hotAccount(), size: 100 };
    take(account, 0);
    const lease = findLease(account, 1, 0) as Lease;
    spend(account, lease, 80);
    account.requesting = wantNext(account);
    expect(account.requesting).toBe(80);
    expect(returnToLease(account, lease, 1, 1)).toBe(false);
  });
});

describe("how long a lease lasts", () => {
  const hour = compileLimit(fixedWindow({ limit: 10, window: "1h" }));
  const bucket = compileLimit(gcra({ limit: 10, window: "1h" }));

  test("the time that was asked for", () => {
    expect(leaseTime(rule, [bucket], [5])).toBe(1_000);
    expect(leaseTime(rule, [hour], [3_600_000_000])).toBe(1_000);
  });

  test("less than what is left of a fixed window, by what two clocks may differ", () => {
    expect(leaseTime(rule, [bucket, hour], [5, 512])).toBe(511);
    expect(leaseTime(rule, [hour], [1])).toBe(0);
  });
});
