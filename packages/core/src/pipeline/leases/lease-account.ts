import type { CompiledLimit } from "../../algorithms/algorithm.ts";
import type { LimitState } from "../../common/decision.ts";
import type {
  CounterDecision,
  LimitDecision,
  StoreDecision,
} from "../../operations/decide-call.ts";
import type { Receipt } from "../../operations/refund.ts";
import type { LimitGroup } from "../../policy/compiled-policy.ts";
import { toLimitState } from "../decision-request.ts";
import type { LeaseSettings } from "./lease-options.ts";

/*
 * The leases of one subject: units that were charged in the store ahead of the requests that spend them, so that these cost no
 * call. The functions are pure: `now` is an argument, and the caller does the I/O.
 *
 * In any period no more is admitted than the limits allow in it, plus the unspent units of the leases held when it began.
 */

/** The size of the smallest lease: one unit would save no call. */
const MIN_UNITS = 2;

/** The next lease is requested when less than 1/LOW_DIVISOR of the current one is left. */
const LOW_DIVISOR = 4;

/** A subject gets a lease if its next request comes within 1/HOT_DIVISOR of the lease's `ttl`: then it is likely to be used. */
const HOT_DIVISOR = 4;

/** The clocks of two machines drift by less than 1/DRIFT_DIVISOR while a lease lasts; by at most 1/1,000 if both are corrected. */
const DRIFT_DIVISOR = 512;

/** Units that were charged in the store by one call, to be spent by this process. */
export interface Lease {
  /** The receipt for the charge of all its units. */
  readonly receipt: Receipt;
  /** When the lease was requested. The store decided later, so a time counted from here ends too early, never too late. */
  readonly sentAt: number;
  readonly expiresAt: number;
  unspent: number;
}

/** The units that a process holds for one subject, and the numbers that determine the next lease. */
export interface LeaseAccount {
  readonly settings: LeaseSettings;
  /** At most two, oldest first, each with unspent units. */
  readonly leases: Lease[];
  /** The units of the lease that is being requested; 0 if none is. */
  pendingUnits: number;
  /** How many units the next lease takes, if enough remain. */
  nextUnits: number;
  /** The units that remained in the store at its last report. */
  remainingInStore: number;
  /** When a request of the subject last went to the store. */
  lastRequestAt: number;
  /** Set when the leases of the subject were ended: nothing more is spent. */
  isClosed: boolean;
}

/** The store's decision on the last request for a lease. */
export interface StoreReport {
  /** The decision, on one counter. */
  readonly decision: StoreDecision;
  /** When it arrived, in microseconds. Times counted from here are reported too long, never too short. */
  readonly receivedAt: number;
}

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

/** The lease that the store granted. `sentAt` is when it was requested, before the store decided. */
export function leaseOf(
  settings: LeaseSettings,
  receipt: Receipt,
  decision: StoreDecision,
  sentAt: number,
): Lease {
  const resets = limitsIn(decision).map(({ resetAfter }) => resetAfter);
  const limits = receipt.counters[0]?.limits ?? [];
  const expiresAt = sentAt + leaseTtl(settings, limits, resets);
  return { receipt, sentAt, expiresAt, unspent: receipt.cost };
}

/**
 * How long a lease lasts, in microseconds: no longer than the fixed windows that were charged, because spending it later would
 * exceed the limit of the next window. `resets` are the microseconds until each limit recovers fully, as
 * reported with the charge.
 */
export function leaseTtl(
  settings: LeaseSettings,
  limits: readonly CompiledLimit[],
  resets: readonly number[],
): number {
  let { ttl } = settings;
  for (const [i, { source }] of limits.entries()) {
    const reset = resets[i] as number;
    if (source.algorithm === "fixedWindow")
      ttl = Math.min(ttl, reset - Math.ceil(reset / DRIFT_DIVISOR));
  }
  return ttl;
}

/** The fewest units that remain in any limit. */
export function remainingUnits(decision: StoreDecision): number {
  return Math.min(...limitsIn(decision).map(({ remaining }) => remaining));
}

function limitsIn({ counters }: StoreDecision): readonly LimitDecision[] {
  return (counters[0] as CounterDecision).limits;
}

/** The unspent units of all leases. */
export function unspentUnits({ leases }: LeaseAccount): number {
  let units = 0;
  for (const { unspent } of leases) units += unspent;
  return units;
}

/** A lease that can pay the whole cost; undefined if there is none. */
export function findLease(account: LeaseAccount, cost: number, now: number): Lease | undefined {
  if (account.isClosed) return undefined;
  for (const lease of account.leases) {
    if (lease.unspent >= cost && isActive(lease, now)) return lease;
  }
  return undefined;
}

/** Spends units of a lease that `findLease` returned. */
export function spend(account: LeaseAccount, lease: Lease, cost: number): void {
  lease.unspent -= cost;
  const { cost: units } = lease.receipt;
  if (lease.unspent * LOW_DIVISOR > units) return;
  account.nextUnits = Math.max(account.nextUnits, Math.min(account.settings.max, units * 2));
  if (lease.unspent === 0) account.leases.splice(account.leases.indexOf(lease), 1);
}

/**
 * How many units to lease along with a request that goes to the store; 0 for none. They are taken from the units that the request
 * leaves, so that a denied request need not wait for leased units to recover. A lease must be able to pay another such request.
 */
export function unitsToLeaseWithRequest(account: LeaseAccount, cost: number, now: number): number {
  const { settings, lastRequestAt } = account;
  account.lastRequestAt = now;
  if (now - lastRequestAt > settings.ttl / HOT_DIVISOR) return 0;
  account.nextUnits = Math.max(account.nextUnits, Math.min(settings.max, cost * MIN_UNITS));
  const units = unitsToLeaseNext(account, account.remainingInStore - cost);
  return units < cost ? 0 : units;
}

/** How many units to lease because few unspent ones are left; 0 for none. `remaining` are the units left in the store. */
export function unitsToLeaseNext(
  account: LeaseAccount,
  remaining: number = account.remainingInStore,
): number {
  const { settings, pendingUnits, nextUnits, isClosed } = account;
  if (pendingUnits > 0 || isClosed || account.leases.length > 1) return 0;
  const unspent = unspentUnits(account);
  if (unspent * LOW_DIVISOR > nextUnits) return 0;
  const share = Math.floor(remaining / settings.divisor);
  const units = Math.min(nextUnits, settings.max - unspent, share);
  return units < MIN_UNITS ? 0 : units;
}

/** Records a lease that was granted, although it may have expired already, and the units that remain in the store. */
export function recordGrant(account: LeaseAccount, lease: Lease, remaining: number): void {
  account.pendingUnits = 0;
  account.remainingInStore = remaining;
  account.leases.push(lease);
}

/** Records that the store denied a lease, and the units that remain in the store. */
export function recordDenial(account: LeaseAccount, remaining: number): void {
  account.pendingUnits = 0;
  account.remainingInStore = remaining;
  account.nextUnits = halfOf(account.nextUnits);
}

/** Records that the store did not answer: no lease is requested until it does. */
export function recordFailure(account: LeaseAccount): void {
  account.pendingUnits = 0;
  account.remainingInStore = 0;
}

/** Returns spent units to a lease. Returns false if the lease has ended or would exceed the maximum: then refund them. */
export function returnToLease(
  account: LeaseAccount,
  lease: Lease,
  cost: number,
  now: number,
): boolean {
  const isHeld = !account.isClosed && account.leases.includes(lease) && isActive(lease, now);
  if (!isHeld) return false;
  if (unspentUnits(account) + account.pendingUnits + cost > account.settings.max) return false;
  lease.unspent += cost;
  return true;
}

/** Removes the expired leases, so that the caller can refund their units. */
export function takeExpired(account: LeaseAccount, now: number): Lease[] {
  const expired = account.leases.filter((lease) => !isActive(lease, now));
  for (const lease of expired) {
    account.leases.splice(account.leases.indexOf(lease), 1);
    const { cost: units } = lease.receipt;
    if (lease.unspent * 2 > units) account.nextUnits = halfOf(Math.min(account.nextUnits, units));
  }
  return expired;
}

/** Closes the account, from which nothing is spent any more. Returns its leases, so that the caller can refund their units. */
export function closeAccount(account: LeaseAccount): Lease[] {
  account.isClosed = true;
  return account.leases.splice(0);
}

/** A receipt for refunding units of a lease, spent or not. */
export function receiptFor({ receipt }: Lease, cost: number): Receipt {
  return { ...receipt, cost };
}

/** Whether a lease may be spent: not before it was requested, because the application's own clock may step back. */
function isActive({ sentAt, expiresAt }: Lease, now: number): boolean {
  return now < expiresAt && now >= sentAt;
}

function halfOf(units: number): number {
  return Math.max(MIN_UNITS, Math.floor(units / 2));
}

/**
 * The limits of a decision that a lease pays: the store's last report, plus the `unspent` leased units, less the time since the
 * report.
 */
export function reportedLimits(
  { limits, positions }: LimitGroup,
  { decision, receivedAt }: StoreReport,
  unspent: number,
  now: number,
): LimitState[] {
  const elapsed = Math.max(0, Math.floor(now - receivedAt));
  const decided = limitsIn(decision);
  const states: LimitState[] = new Array(limits.length);
  for (let i = 0; i < limits.length; i += 1) {
    const limit = limits[i] as CompiledLimit;
    const { remaining, resetAfter, refillAfter } = decided[i] as LimitDecision;
    states[positions[i] as number] = toLimitState(limit, decision.now, {
      wait: 0,
      remaining: Math.min(limit.limit, remaining + unspent),
      resetAfter: timeLeft(resetAfter, elapsed),
      refillAfter: timeLeft(refillAfter, elapsed),
    });
  }
  return states;
}

/** At least 1 µs: a charged limit has not recovered fully. */
function timeLeft(time: number, elapsed: number): number {
  return Math.max(1, time - elapsed);
}
