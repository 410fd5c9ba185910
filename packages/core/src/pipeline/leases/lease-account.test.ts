import { describe, expect, test } from "vitest";
import { compileLimit } from "../../algorithms/compile-limit.ts";
import { fixedWindow } from "../../algorithms/fixed-window.ts";
import { gcra } from "../../algorithms/gcra.ts";
import {
  closeAccount,
  findLease,
  leaseTtl,
  openAccount,
  receiptFor,
  recordDenial,
  recordFailure,
  recordGrant,
  returnToLease,
  spend,
  takeExpired,
  unitsToLeaseNext,
  unitsToLeaseWithRequest,
  unspentUnits,
} from "./lease-account.ts";
import type { Lease, LeaseAccount } from "./leases.ts";

const rule = { max: 100, ttl: 1_000, divisor: 8 };

/** An account whose subject has been asked for at 0, when `room` units remained. */
function hotAccount(remainingInStore = 1_000_000): LeaseAccount {
  return { ...openAccount(rule), remainingInStore, lastRequestAt: 0 };
}

function leaseOf(units: number, sentAt = 0, expiresAt = sentAt + rule.ttl): Lease {
  return {
    receipt: { cost: units, chargedAt: 7, counters: [], generations: [1] },
    sentAt,
    expiresAt,
    unspent: units,
  };
}

/** Asks for a lease and is granted it; returns what was asked for. */
function take(account: LeaseAccount, now: number): number {
  const units = unitsToLeaseWithRequest(account, 1, now);
  account.pendingUnits = units;
  recordGrant(account, leaseOf(units, now), account.remainingInStore - units);
  return units;
}

function spendAll(account: LeaseAccount, now: number): void {
  for (let lease = findLease(account, 1, now); lease; lease = findLease(account, 1, now)) {
    spend(account, lease, 1);
  }
}

describe("how many units are asked for", () => {
  test("none for a subject that is asked for now and then", () => {
    const account = { ...openAccount(rule), remainingInStore: 1_000 };
    expect([0, 251, 502, 753].map((now) => unitsToLeaseWithRequest(account, 1, now))).toEqual([
      0, 0, 0, 0,
    ]);
    expect(unitsToLeaseWithRequest(account, 1, 1_003)).toBe(2);
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
    expect(unitsToLeaseWithRequest(hotAccount(), 3, 1)).toBe(6);
    expect(unitsToLeaseWithRequest(hotAccount(), 70, 1)).toBe(100);
    expect(unitsToLeaseWithRequest(hotAccount(8 * 6 + 3), 3, 1)).toBe(6);
    expect(unitsToLeaseWithRequest(hotAccount(8 * 6 + 2), 3, 1)).toBe(5);
  });

  test("none beside a request that they would not pay, or that what remains does not", () => {
    expect(unitsToLeaseWithRequest(hotAccount(), 101, 1)).toBe(0);
    expect(unitsToLeaseWithRequest(hotAccount(8 * 2 + 3), 3, 1)).toBe(0);
    expect(unitsToLeaseWithRequest(hotAccount(40), 50, 1)).toBe(0);
  });

  test("half as many after a lease that ended with more than half of it", () => {
    const account = { ...hotAccount(), nextUnits: 16 };
    take(account, 0);
    spend(account, findLease(account, 7, 1) as Lease, 7);
    expect(takeExpired(account, 1_000)).toHaveLength(1);
    expect(account.nextUnits).toBe(8);
    account.lastRequestAt = 1_000;
    take(account, 1_000);
    spend(account, findLease(account, 4, 1_001) as Lease, 4);
    takeExpired(account, 2_000);
    expect(account.nextUnits).toBe(8);
  });

  test("half as many after a denial", () => {
    const account = { ...hotAccount(), nextUnits: 16, pendingUnits: 16 };
    recordDenial(account, 1_000);
    expect(unitsToLeaseNext(account)).toBe(8);
  });

  test.each([
    [15, 0],
    [16, 2],
    [79, 9],
    [10_000, 64],
  ])("of %i that remain, %i", (room, units) => {
    expect(unitsToLeaseNext({ ...hotAccount(room), nextUnits: 64 })).toBe(units);
  });

  test("none while others are asked for, or when the store said nothing", () => {
    const account = hotAccount();
    account.pendingUnits = 2;
    expect(unitsToLeaseNext(account)).toBe(0);
    recordFailure(account);
    expect(unitsToLeaseNext(account)).toBe(0);
    account.remainingInStore = 1_000;
    expect(unitsToLeaseNext(account)).toBe(2);
  });

  test("the next ones when a quarter is left, and never more than may be held", () => {
    const account = { ...hotAccount(), nextUnits: 100 };
    take(account, 0);
    spend(account, findLease(account, 74, 1) as Lease, 74);
    expect(unitsToLeaseNext(account)).toBe(0);
    spend(account, findLease(account, 1, 1) as Lease, 1);
    expect(unitsToLeaseNext(account)).toBe(75);
  });
});

describe("what is held", () => {
  test("is spent, the oldest first, until it is over", () => {
    const account = hotAccount();
    recordGrant(account, leaseOf(3, 0, 500), 9);
    recordGrant(account, leaseOf(5, 100, 900), 9);
    expect(findLease(account, 3, 499)?.receipt.cost).toBe(3);
    expect(findLease(account, 3, 500)?.receipt.cost).toBe(5);
    expect(findLease(account, 1, 900)).toBeUndefined();
  });

  test("pays a cost from one lease", () => {
    const account = hotAccount();
    recordGrant(account, leaseOf(3), 9);
    recordGrant(account, leaseOf(5), 9);
    expect(findLease(account, 4, 0)?.receipt.cost).toBe(5);
    expect(findLease(account, 6, 0)).toBeUndefined();
  });

  test("is not spent when the clock has stepped back to before it was asked for", () => {
    const account = hotAccount();
    recordGrant(account, leaseOf(3, 100), 9);
    expect(findLease(account, 1, 99)).toBeUndefined();
    expect(takeExpired(account, 99)).toHaveLength(1);
  });

  test("is given back once, less what was spent", () => {
    const account = hotAccount();
    recordGrant(account, leaseOf(8), 9);
    spend(account, findLease(account, 3, 0) as Lease, 3);
    expect(takeExpired(account, 999)).toEqual([]);
    const [ended] = takeExpired(account, 1_000) as [Lease];
    expect(receiptFor(ended, ended.unspent)).toMatchObject({
      cost: 5,
      charged: 7,
      generations: [1],
    });
    expect(takeExpired(account, 1_000)).toEqual([]);
    expect(unspentUnits(account)).toBe(0);
  });

  test("is not spent any more once its subject is given up", () => {
    const account = hotAccount();
    recordGrant(account, leaseOf(8), 9);
    expect(closeAccount(account)).toHaveLength(1);
    recordGrant(account, leaseOf(8), 9);
    expect(findLease(account, 1, 0)).toBeUndefined();
    expect(unitsToLeaseNext(account)).toBe(0);
  });

  test("takes units back that were spent, while it is held", () => {
    const account = hotAccount();
    recordGrant(account, leaseOf(4), 9);
    const lease = findLease(account, 1, 0) as Lease;
    spend(account, lease, 1);
    expect(returnToLease(account, lease, 1, 999)).toBe(true);
    expect(lease.unspent).toBe(4);
    spend(account, lease, 1);
    expect(returnToLease(account, lease, 1, 1_000)).toBe(false);
    spend(account, lease, 3);
    expect(returnToLease(account, lease, 1, 500)).toBe(false);
  });

  test("takes none back that would be too many, with those that are asked for", () => {
    const account = { ...hotAccount(), nextUnits: 100 };
    take(account, 0);
    const lease = findLease(account, 1, 0) as Lease;
    spend(account, lease, 80);
    account.pendingUnits = unitsToLeaseNext(account);
    expect(account.pendingUnits).toBe(80);
    expect(returnToLease(account, lease, 1, 1)).toBe(false);
  });
});

describe("how long a lease lasts", () => {
  const hour = compileLimit(fixedWindow({ limit: 10, window: "1h" }));
  const bucket = compileLimit(gcra({ limit: 10, window: "1h" }));

  test("the time that was asked for", () => {
    expect(leaseTtl(rule, [bucket], [5])).toBe(1_000);
    expect(leaseTtl(rule, [hour], [3_600_000_000])).toBe(1_000);
  });

  test("less than what is left of a fixed window, by what two clocks may differ", () => {
    expect(leaseTtl(rule, [bucket, hour], [5, 512])).toBe(511);
    expect(leaseTtl(rule, [hour], [1])).toBe(0);
  });
});
