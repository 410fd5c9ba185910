import type { CompiledLimit } from "../../algorithms/algorithm.ts";
import type { Receipt } from "../../operations/refund.ts";
import type { Lease, LeaseAccount, LeaseSettings } from "./leases.ts";

/*
 * The leases of one subject: units already charged in the store, which this process spends by itself. Pure: `now` is an
 * argument, and the caller does the I/O.
 *
 * Spent units were charged beforehand, so in any period no more is admitted than the limits allow in it, plus the units held in
 * leases when it began.
 */

/** The smallest lease: for a single unit, a request might as well ask itself. */
const MIN_UNITS = 2;

/** The next lease is requested when less than 1/LOW of this one is left. */
const LOW_DIVISOR = 4;

/** A subject is hot if it is asked for again within 1/HOT of a lease's `ttl`; then the lease will be used. */
const HOT_DIVISOR = 4;

/** The clocks of two machines drift by less than 1/DRIFT while a lease lasts; by at most 1/1,000 if both are corrected. */
const DRIFT_DIVISOR = 512;

export function openAccount(settings: LeaseSettings): LeaseAccount {
  return {
    settings,
    leases: [],
    pendingUnits: 0,
    nextUnits: MIN_UNITS,
    remainingInStore: 0,
    lastRequestAt: Number.NEGATIVE_INFINITY,
    isClosed: false,
  };
}

/**
 * How long a lease lasts: no longer than the fixed windows that were charged, since spending it later would exceed the limit of
 * the next window. `resets` are the microseconds until each limit is unused again, as reported when the lease was charged.
 */
export function leaseTtl(
  settings: LeaseSettings,
  limits: readonly CompiledLimit[],
  resets: readonly number[],
): number {
  let time = settings.ttl;
  for (const [i, { source }] of limits.entries()) {
    const reset = resets[i] as number;
    if (source.algorithm === "fixedWindow")
      time = Math.min(time, reset - Math.ceil(reset / DRIFT_DIVISOR));
  }
  return time;
}

/** Unspent units in all leases. */
export function unspentUnits({ leases }: LeaseAccount): number {
  let units = 0;
  for (const { unspent } of leases) units += unspent;
  return units;
}

/** The lease that can pay a cost; undefined if no single one can. */
export function findLease(account: LeaseAccount, cost: number, now: number): Lease | undefined {
  if (account.isClosed) return undefined;
  for (const lease of account.leases) {
    if (lease.unspent >= cost && isActive(lease, now)) return lease;
  }
  return undefined;
}

/** Spends units of a lease returned by `findLease`. */
export function spend(account: LeaseAccount, lease: Lease, cost: number): void {
  lease.unspent -= cost;
  const { cost: units } = lease.receipt;
  if (lease.unspent * LOW_DIVISOR > units) return;
  account.nextUnits = Math.max(account.nextUnits, Math.min(account.settings.max, units * 2));
  if (lease.unspent === 0) account.leases.splice(account.leases.indexOf(lease), 1);
}

/**
 * How many units to lease along with a request that goes to the store; 0 for none. They come from what the request leaves, so
 * that a denied request does not have to wait for them. A lease too small to pay another such request is not worth a call.
 */
export function unitsToLeaseWithRequest(account: LeaseAccount, cost: number, now: number): number {
  const { settings, lastRequestAt } = account;
  account.lastRequestAt = now;
  if (now - lastRequestAt > settings.ttl / HOT_DIVISOR) return 0;
  account.nextUnits = Math.max(account.nextUnits, Math.min(settings.max, cost * MIN_UNITS));
  const wanted = unitsToLeaseNext(account, account.remainingInStore - cost);
  return wanted < cost ? 0 : wanted;
}

/** How many units to lease because few are left; 0 for none. */
export function unitsToLeaseNext(
  account: LeaseAccount,
  room: number = account.remainingInStore,
): number {
  const { settings, pendingUnits, nextUnits, isClosed } = account;
  if (pendingUnits > 0 || isClosed || account.leases.length > 1) return 0;
  const left = unspentUnits(account);
  if (left * LOW_DIVISOR > nextUnits) return 0;
  const wanted = Math.min(nextUnits, settings.max - left, Math.floor(room / settings.divisor));
  return wanted < MIN_UNITS ? 0 : wanted;
}

/** Records a lease that was charged. It may have expired already. */
export function recordGrant(account: LeaseAccount, lease: Lease, room: number): void {
  account.pendingUnits = 0;
  account.remainingInStore = room;
  account.leases.push(lease);
}

/** Records that the store denied a lease. */
export function recordDenial(account: LeaseAccount, room: number): void {
  account.pendingUnits = 0;
  account.remainingInStore = room;
  account.nextUnits = halfOf(account.nextUnits);
}

/** Records that the store did not answer: nothing more is requested until it does. */
export function recordFailure(account: LeaseAccount): void {
  account.pendingUnits = 0;
  account.remainingInStore = 0;
}

/** Puts back units spent from a lease; false if they belong to the store again, or would be too many. */
export function returnToLease(
  account: LeaseAccount,
  lease: Lease,
  cost: number,
  now: number,
): boolean {
  const isKept = !account.isClosed && account.leases.includes(lease) && isActive(lease, now);
  if (!isKept || unspentUnits(account) + account.pendingUnits + cost > account.settings.max)
    return false;
  lease.unspent += cost;
  return true;
}

/** Removes the expired leases, so that the caller can refund their units. */
export function takeExpired(account: LeaseAccount, now: number): Lease[] {
  const ended = account.leases.filter((lease) => !isActive(lease, now));
  for (const lease of ended) {
    account.leases.splice(account.leases.indexOf(lease), 1);
    const { cost: units } = lease.receipt;
    if (lease.unspent * 2 > units) account.nextUnits = halfOf(Math.min(account.nextUnits, units));
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
function isActive({ sentAt, expiresAt }: Lease, now: number): boolean {
  return now < expiresAt && now >= sentAt;
}

function halfOf(size: number): number {
  return Math.max(MIN_UNITS, Math.floor(size / 2));
}
