import { describe, expect, test } from "vitest";
import { compileLimit } from "../../algorithms/compile-policy.ts";
import { fixedWindow } from "../../algorithms/fixed-window.ts";
import { gcra } from "../../algorithms/gcra.ts";
import type { Lease, LeaseAccount } from "./lease-account.ts";
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

describe("the size of the next lease", () => {
  test("a subject with infrequent requests gets no lease", () => {
    const account = { ...openAccount(rule), remainingInStore: 1_000 };
    expect([0, 251, 502, 753].map((now) => unitsToLeaseWithRequest(account, 1, now))).toEqual([
      0, 0, 0, 0,
    ]);
    expect(unitsToLeaseWithRequest(account, 1, 1_003)).toBe(2);
  });

  test("each lease is twice as large as the last one while leases are used up", () => {
    const account = hotAccount();
    const taken = [1, 2, 3, 4, 5, 6, 7].map((now) => {
      const units = take(account, now);
      spendAll(account, now);
      return units;
    });
    expect(taken).toEqual([2, 4, 8, 16, 32, 64, 100]);
  });

  test("a lease is large enough for two requests of the same cost, within the share of the remaining units", () => {
    expect(unitsToLeaseWithRequest(hotAccount(), 3, 1)).toBe(6);
    expect(unitsToLeaseWithRequest(hotAccount(), 70, 1)).toBe(100);
    expect(unitsToLeaseWithRequest(hotAccount(8 * 6 + 3), 3, 1)).toBe(6);
    expect(unitsToLeaseWithRequest(hotAccount(8 * 6 + 2), 3, 1)).toBe(5);
  });

  test("no lease is taken that could not pay for another request of the same cost", () => {
    expect(unitsToLeaseWithRequest(hotAccount(), 101, 1)).toBe(0);
    expect(unitsToLeaseWithRequest(hotAccount(8 * 2 + 3), 3, 1)).toBe(0);
    expect(unitsToLeaseWithRequest(hotAccount(40), 50, 1)).toBe(0);
  });

  test("the next lease is half as large after one that expired more than half unspent", () => {
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

  test("the next lease is half as large after a denial", () => {
    const account = { ...hotAccount(), nextUnits: 16, pendingUnits: 16 };
    recordDenial(account, 1_000);
    expect(unitsToLeaseNext(account)).toBe(8);
  });

  test.each([
    [15, 0],
    [16, 2],
    [79, 9],
    [10_000, 64],
  ])("with %i units remaining, %i are leased", (room, units) => {
    expect(unitsToLeaseNext({ ...hotAccount(room), nextUnits: 64 })).toBe(units);
  });

  test("no lease is requested while another is pending, or after the store did not answer", () => {
    const account = hotAccount();
    account.pendingUnits = 2;
    expect(unitsToLeaseNext(account)).toBe(0);
    recordFailure(account);
    expect(unitsToLeaseNext(account)).toBe(0);
    account.remainingInStore = 1_000;
    expect(unitsToLeaseNext(account)).toBe(2);
  });

  test("no lease is requested while two are held, however little they have left", () => {
    const account = { ...hotAccount(), nextUnits: 100 };
    recordGrant(account, leaseOf(2), 1_000);
    expect(unitsToLeaseNext(account)).toBe(98);
    recordGrant(account, leaseOf(2), 1_000);
    expect(unitsToLeaseNext(account)).toBe(0);
  });

  test("the next lease is requested when a quarter is left, and never exceeds the maximum together with it", () => {
    const account = { ...hotAccount(), nextUnits: 100 };
    take(account, 0);
    spend(account, findLease(account, 74, 1) as Lease, 74);
    expect(unitsToLeaseNext(account)).toBe(0);
    spend(account, findLease(account, 1, 1) as Lease, 1);
    expect(unitsToLeaseNext(account)).toBe(75);
  });
});

describe("the units of a lease", () => {
  test("leases are spent oldest first until they expire", () => {
    const account = hotAccount();
    recordGrant(account, leaseOf(3, 0, 500), 9);
    recordGrant(account, leaseOf(5, 100, 900), 9);
    expect(findLease(account, 3, 499)?.receipt.cost).toBe(3);
    expect(findLease(account, 3, 500)?.receipt.cost).toBe(5);
    expect(findLease(account, 1, 900)).toBeUndefined();
  });

  test("a cost is paid from a single lease", () => {
    const account = hotAccount();
    recordGrant(account, leaseOf(3), 9);
    recordGrant(account, leaseOf(5), 9);
    expect(findLease(account, 4, 0)?.receipt.cost).toBe(5);
    expect(findLease(account, 6, 0)).toBeUndefined();
  });

  test("a lease is not spent if the clock stepped back to before it was requested", () => {
    const account = hotAccount();
    recordGrant(account, leaseOf(3, 100), 9);
    expect(findLease(account, 1, 99)).toBeUndefined();
    expect(takeExpired(account, 99)).toHaveLength(1);
  });

  test("the unspent units of an expired lease are refunded once", () => {
    const account = hotAccount();
    recordGrant(account, leaseOf(8), 9);
    spend(account, findLease(account, 3, 0) as Lease, 3);
    expect(takeExpired(account, 999)).toEqual([]);
    const [ended] = takeExpired(account, 1_000) as [Lease];
    expect(receiptFor(ended, ended.unspent)).toMatchObject({
      cost: 5,
      chargedAt: 7,
      generations: [1],
    });
    expect(takeExpired(account, 1_000)).toEqual([]);
    expect(unspentUnits(account)).toBe(0);
  });

  test("no lease is spent once its account is closed", () => {
    const account = hotAccount();
    recordGrant(account, leaseOf(8), 9);
    expect(closeAccount(account)).toHaveLength(1);
    recordGrant(account, leaseOf(8), 9);
    expect(findLease(account, 1, 0)).toBeUndefined();
    expect(unitsToLeaseNext(account)).toBe(0);
  });

  test("spent units can be returned to a lease until it expires", () => {
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

  test("units are not returned to a lease if they would exceed the maximum together with pending units", () => {
    const account = { ...hotAccount(), nextUnits: 100 };
    take(account, 0);
    const lease = findLease(account, 1, 0) as Lease;
    spend(account, lease, 80);
    account.pendingUnits = unitsToLeaseNext(account);
    expect(account.pendingUnits).toBe(80);
    expect(returnToLease(account, lease, 1, 1)).toBe(false);
  });
});

describe("the lifetime of a lease", () => {
  const hour = compileLimit(fixedWindow({ limit: 10, window: "1h" }));
  const bucket = compileLimit(gcra({ limit: 10, window: "1h" }));

  test("a lease lasts for its ttl", () => {
    expect(leaseTtl(rule, [bucket], [5])).toBe(1_000);
    expect(leaseTtl(rule, [hour], [3_600_000_000])).toBe(1_000);
  });

  test("a lease ends before its fixed window does, by the drift that two clocks may have", () => {
    expect(leaseTtl(rule, [bucket, hour], [5, 512])).toBe(511);
    expect(leaseTtl(rule, [hour], [1])).toBe(0);
  });
});
