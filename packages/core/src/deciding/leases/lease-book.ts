import type { CompiledLimit } from "../../algorithms/algorithm.ts";
import type { Receipt } from "../../store/refund.ts";
import type { Lease, LeaseAccount, LeaseRule } from "./leases.ts";

/*
 * The leases of one subject: units that the store has charged, and that this process spends by itself. Pure: `now` is an
 * argument, and the caller does what the store has to be asked or given back.
 *
 * What is spent was charged before, so no time admits more than the limits allow in it plus what was held in
 * leases when it began.
 */

/** The smallest lease: one unit is a request of its own. */
const SMALLEST = 2;

/** The next lease is asked for when less than one in so many units of this one is left. */
const LOW = 4;

/** A subject is hot when it is asked for again within one in so many parts of the time of a lease, which will be used then. */
const HOT = 4;

/** The clocks of two machines differ by less than one part in so many while a lease lasts; at most one in 1,000 where both are corrected. */
const DRIFT = 512;

export function openAccount(rule: LeaseRule): LeaseAccount {
  return {
    rule,
    leases: [],
    asking: 0,
    size: SMALLEST,
    room: 0,
    asked: Number.NEGATIVE_INFINITY,
    isClosed: false,
  };
}

/**
 * How long a lease lasts: no longer than the fixed windows that were charged, whose limits it would exceed in the next.
 * `resets` are the microseconds until each limit is as if unused, as the store reported when it charged.
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

/** Units not spent, of all leases. */
export function unitsLeft({ leases }: LeaseAccount): number {
  let units = 0;
  for (const { left } of leases) units += left;
  return units;
}

/** The lease that pays a cost; undefined when none can alone. */
export function findLease(account: LeaseAccount, cost: number, now: number): Lease | undefined {
  if (account.isClosed) return undefined;
  for (const lease of account.leases) {
    if (lease.left >= cost && isHeld(lease, now)) return lease;
  }
  return undefined;
}

/** Spends units of a lease that was found. */
export function spend(account: LeaseAccount, lease: Lease, cost: number): void {
  lease.left -= cost;
  const { cost: units } = lease.receipt;
  if (lease.left * LOW > units) return;
  account.size = Math.max(account.size, Math.min(account.rule.max, units * 2));
  if (lease.left === 0) account.leases.splice(account.leases.indexOf(lease), 1);
}

/**
 * How many units to ask for together with a request for which the store is asked; 0 for none. They come from the room that the request
 * leaves: a denied request waits for that room. Too few to pay another such request are not worth a call.
 */
export function wantBeside(account: LeaseAccount, cost: number, now: number): number {
  const { rule, asked } = account;
  account.asked = now;
  if (now - asked > rule.ttl / HOT) return 0;
  account.size = Math.max(account.size, Math.min(rule.max, cost * SMALLEST));
  const wanted = wantNext(account, account.room - cost);
  return wanted < cost ? 0 : wanted;
}

/** How many units to ask for because few are left; 0 for none. */
export function wantNext(account: LeaseAccount, room: number = account.room): number {
  const { rule, asking, size, isClosed } = account;
  if (asking > 0 || isClosed || account.leases.length > 1) return 0;
  const left = unitsLeft(account);
  if (left * LOW > size) return 0;
  const wanted = Math.min(size, rule.max - left, Math.floor(room / rule.share));
  return wanted < SMALLEST ? 0 : wanted;
}

/** Notes what was charged. It may be over already. */
export function grant(account: LeaseAccount, lease: Lease, room: number): void {
  account.asking = 0;
  account.room = room;
  account.leases.push(lease);
}

/** Notes that the store denied what was asked for. */
export function deny(account: LeaseAccount, room: number): void {
  account.asking = 0;
  account.room = room;
  account.size = halfOf(account.size);
}

/** Notes that the store gave no answer: until it answers again, nothing more is asked for. */
export function lose(account: LeaseAccount): void {
  account.asking = 0;
  account.room = 0;
}

/** Puts units back that were spent of a lease; false when they are the store's again, or would be too many. */
export function putBack(account: LeaseAccount, lease: Lease, cost: number, now: number): boolean {
  const isKept = !account.isClosed && account.leases.includes(lease) && isHeld(lease, now);
  if (!isKept || unitsLeft(account) + account.asking + cost > account.rule.max) return false;
  lease.left += cost;
  return true;
}

/** Takes out the leases that are over, whose units are to be given back. */
export function takeEnded(account: LeaseAccount, now: number): Lease[] {
  const ended = account.leases.filter((lease) => !isHeld(lease, now));
  for (const lease of ended) {
    account.leases.splice(account.leases.indexOf(lease), 1);
    const { cost: units } = lease.receipt;
    if (lease.left * 2 > units) account.size = halfOf(Math.min(account.size, units));
  }
  return ended;
}

/** Gives the subject up: takes out all leases, whose units are to be given back, and spends nothing any more. */
export function closeAccount(account: LeaseAccount): Lease[] {
  account.isClosed = true;
  return account.leases.splice(0);
}

/** What gives back the units of a lease that were not spent, or some that were. */
export function receiptFor({ receipt }: Lease, cost: number): Receipt {
  return { ...receipt, cost };
}

/** A clock of the application's own may step back. */
function isHeld({ sent, until }: Lease, now: number): boolean {
  return now < until && now >= sent;
}

function halfOf(size: number): number {
  return Math.max(SMALLEST, Math.floor(size / 2));
}
