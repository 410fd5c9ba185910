import type { CompiledLimit } from "../../algorithms/algorithm.ts";
import type { Receipt } from "../../operations/refund.ts";
import type { Lease, LeaseAccount, LeaseRule } from "./leases.ts";

/*
 * The leases of one subject: units already charged in the store, which this process spends by itself. Pure: `now` is an
 * argument, and the caller does the I/O.
 *
 * Spent units were charged beforehand, so in any period no more is admitted than the limits allow in it, plus the units held in
 * leases when it began.
 */

/** The smallest lease: for a single unit, a request might as well ask itself. */
const SMALLEST = 2;

/** The next lease is requested when less than 1/LOW of this one is left. */
const LOW = 4;

/** A subject is hot if it is asked for again within 1/HOT of a lease's `ttl`; then the lease will be used. */
const HOT = 4;

/** The clocks of two machines drift by less than 1/DRIFT while a lease lasts; by at most 1/1,000 if both are corrected. */
const DRIFT = 512;

export function openAccount(rule: LeaseRule): LeaseAccount {
  return {
    rule,
    leases: [],
    requesting: 0,
    size: SMALLEST,
    room: 0,
    requested: Number.NEGATIVE_INFINITY,
    isClosed: false,
  };
}

/**
 * How long a lease lasts: no longer than the fixed windows that were charged, since spending it later would exceed the limit of
 * the next window. `resets` are the microseconds until each limit is unused again, as reported when the lease was charged.
 */
export function leaseTime(
  rule: LeaseRule,
  limits: readonly CompiledLimit[],
  resets: readonly number[],
): number {
  let time = rule.ttl;
  for (const [i, { source }] of limits.entries()) {
    const reset = resets[i] as number;
    if (source.algorithm === "fixedWindow") time = Math.min(time, reset - Math.ceil(reset / DRIFT));
  }
  return time;
}

/** Unspent units in all leases. */
export function unitsLeft({ leases }: LeaseAccount): number {
  let units = 0;
  for (const { left } of leases) units += left;
  return units;
}

/** The lease that can pay a cost; undefined if no single one can. */
export function findLease(account: LeaseAccount, cost: number, now: number): Lease | undefined {
  if (account.isClosed) return undefined;
  for (const lease of account.leases) {
    if (lease.left >= cost && isHeld(lease, now)) return lease;
  }
  return undefined;
}

/** Spends units of a lease returned by `findLease`. */
export function spend(account: LeaseAccount, lease: Lease, cost: number): void {
  lease.left -= cost;
  const { cost: units } = lease.receipt;
  if (lease.left * LOW > units) return;
  account.size = Math.max(account.size, Math.min(account.rule.max, units * 2));
  if (lease.left === 0) account.leases.splice(account.leases.indexOf(lease), 1);
}

/**
 * How many units to lease along with a request that goes to the store; 0 for none. They come from what the request leaves, so
 * that a denied request does not have to wait for them. A lease too small to pay another such request is not worth a call.
 */
export function wantMore(account: LeaseAccount, cost: number, now: number): number {
  const { rule, requested } = account;
  account.requested = now;
  if (now - requested > rule.ttl / HOT) return 0;
  account.size = Math.max(account.size, Math.min(rule.max, cost * SMALLEST));
  const wanted = wantNext(account, account.room - cost);
  return wanted < cost ? 0 : wanted;
}

/** How many units to lease because few are left; 0 for none. */
export function wantNext(account: LeaseAccount, room: number = account.room): number {
  const { rule, requesting, size, isClosed } = account;
  if (requesting > 0 || isClosed || account.leases.length > 1) return 0;
  const left = unitsLeft(account);
  if (left * LOW > size) return 0;
  const wanted = Math.min(size, rule.max - left, Math.floor(room / rule.share));
  return wanted < SMALLEST ? 0 : wanted;
}

/** Records a lease that was charged. It may have expired already. */
export function grant(account: LeaseAccount, lease: Lease, room: number): void {
  account.requesting = 0;
  account.room = room;
  account.leases.push(lease);
}

/** Records that the store denied a lease. */
export function deny(account: LeaseAccount, room: number): void {
  account.requesting = 0;
  account.room = room;
  account.size = halfOf(account.size);
}

/** Records that the store did not answer: nothing more is requested until it does. */
export function lose(account: LeaseAccount): void {
  account.requesting = 0;
  account.room = 0;
}

/** Puts back units spent from a lease; false if they belong to the store again, or would be too many. */
export function returnToLease(
  account: LeaseAccount,
  lease: Lease,
  cost: number,
  now: number,
): boolean {
  const isKept = !account.isClosed && account.leases.includes(lease) && isHeld(lease, now);
  if (!isKept || unitsLeft(account) + account.requesting + cost > account.rule.max) return false;
  lease.left += cost;
  return true;
}

/** Removes the expired leases, so that the caller can refund their units. */
export function takeEnded(account: LeaseAccount, now: number): Lease[] {
  const ended = account.leases.filter((lease) => !isHeld(lease, now));
  for (const lease of ended) {
    account.leases.splice(account.leases.indexOf(lease), 1);
    const { cost: units } = lease.receipt;
    if (lease.left * 2 > units) account.size = halfOf(Math.min(account.size, units));
  }
  return ended;
}

/** Closes the account: removes all leases, so that the caller can refund their units, and spends nothing from now on. */
export function closeAccount(account: LeaseAccount): Lease[] {
  account.isClosed = true;
  return account.leases.splice(0);
}

/** A receipt for refunding units of a lease, spent or not. */
export function receiptFor({ receipt }: Lease, cost: number): Receipt {
  return { ...receipt, cost };
}

/** A clock supplied by the application may step back. */
function isHeld({ sent, until }: Lease, now: number): boolean {
  return now < until && now >= sent;
}

function halfOf(size: number): number {
  return Math.max(SMALLEST, Math.floor(size / 2));
}
