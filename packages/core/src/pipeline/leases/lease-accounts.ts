import { LRUCache } from "lru-cache";
import { Alarm } from "../../common/background.ts";
import { toMilliseconds } from "../../common/time.ts";
import type { StoreMonitor } from "../../health/outage.ts";
import { decide } from "../../operations/decide.ts";
import type { DecideCall } from "../../operations/decide-call.ts";
import type { Receipt } from "../../operations/refund.ts";
import { refund } from "../../operations/refund.ts";
import type { CompiledPolicy } from "../../policy/compiled-policy.ts";
import type { SubjectCounter } from "../../policy/counters.ts";
import { refundOf } from "../changes.ts";
import { readReply } from "../decode-reply.ts";
import type { DenyCache } from "../deny-cache.ts";
import { denyCacheOf } from "../deny-cache.ts";
import { leaseHoldersOn } from "../lease-holders.ts";
import type { Stage } from "../stage.ts";
import {
  closeAccount,
  deny,
  grant,
  lose,
  openAccount,
  receiptFor,
  takeEnded,
} from "./lease-book.ts";
import type { Reported } from "./lease-reply.ts";
import { leaseOf, roomOf } from "./lease-reply.ts";
import type { Lease, LeaseAccount, LeaseRule } from "./leases.ts";

/** The most subjects kept; the least recently asked is evicted first. */
const MAX_ACCOUNTS = 1_000;

/**
 * Longer subjects are stored by their key, so that a client cannot choose how much memory it takes. Every such key is longer
 * than this.
 */
const MAX_SUBJECT = 48;

/** The most checks for expired leases within one lease's `ttl`, however many leases end at different times. */
const LOOKS = 64;

/** The leases of a subject, and the store's report with the last one. */
export interface SubjectAccount extends LeaseAccount {
  readonly counter: SubjectCounter;
  reported: Reported | undefined;
}

/** Where leases are asked for. */
export interface LeaseStore {
  readonly counted: CompiledPolicy;
  readonly watch: StoreMonitor;
}

/** The leases of a limiter's subjects: takes them from the store and returns the rest. */
export class LeaseAccounts {
  readonly #rule: LeaseRule;
  readonly #place: LeaseStore;
  /** Receives the refunds of unspent units. */
  readonly #next: Stage;
  readonly #denials: DenyCache;
  readonly #accounts = new LRUCache<string, SubjectAccount>({
    max: MAX_ACCOUNTS,
    dispose: (account) => this.#giveBack(closeAccount(account)),
  });
  readonly #underWay = new Set<Promise<unknown>>();
  readonly #leaveOwner: () => void;
  readonly #alarm = new Alarm(() => this.#look());

  constructor(rule: LeaseRule, next: Stage, place: LeaseStore) {
    this.#rule = rule;
    this.#next = next;
    this.#place = place;
    const { owner } = place.counted.store;
    this.#denials = denyCacheOf(owner);
    this.#leaveOwner = leaseHoldersOn(owner).add(this);
  }

  /** The account of a subject, unless it is stored by key. */
  findKnown(subject: string): SubjectAccount | undefined {
    return subject.length > MAX_SUBJECT ? undefined : this.#accounts.get(subject);
  }

  find(counter: SubjectCounter): SubjectAccount | undefined {
    return this.#accounts.get(nameOf(counter));
  }

  open(counter: SubjectCounter): SubjectAccount {
    const name = nameOf(counter);
    const kept = { ...counter, subject: name };
    const account = { ...openAccount(this.#rule), counter: kept, reported: undefined };
    this.#accounts.set(name, account);
    return account;
  }

  /** Returns the leases of those counters that belong to this limiter. */
  close(counters: readonly SubjectCounter[]): void {
    for (const counter of counters) {
      const name = nameOf(counter);
      if (this.#accounts.peek(name)?.counter.key === counter.key) this.#accounts.delete(name);
    }
  }

  /** Returns the leases of counters for which `isOver` is true. */
  closeIf(isOver: (counter: SubjectCounter) => boolean): void {
    this.close([...this.#accounts.values()].map(({ counter }) => counter).filter(isOver));
  }

  /** Returns all leases; new ones can still be taken. */
  clear(): void {
    this.#accounts.clear();
  }

  /** Returns all leases; resolves when the calls in progress have ended. */
  async closeAll(): Promise<void> {
    this.#leaveOwner();
    this.clear();
    this.#alarm.stop();
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay);
  }

  /** Asks the store for a lease. No request waits for it; if the store fails, the requests' own calls report it. */
  request(account: SubjectAccount, units: number): void {
    account.requesting = units;
    this.#follow(this.#request(account, units).catch(() => lose(account)));
  }

  async #request(account: SubjectAccount, cost: number): Promise<void> {
    const { counted, watch } = this.#place;
    const { store } = counted;
    const { counter } = account;
    const counters = [counter];
    const sent = store.now();
    const call: DecideCall = { cost, mode: "charge", counters };
    const late = (found?: readonly number[]) => found && this.#giveBackLate(call, found);
    const reply = await watch.run(store, decide, call, counter.key, 0, late);
    const { allowed, blocked, receipts } = readReply(counted, counters, cost, reply);
    const [receipt] = receipts as [Receipt];
    const received = store.now();
    account.reported = { reply, received };
    const room = roomOf(counter.group, reply);
    if (!allowed) {
      deny(account, room);
      if (blocked) this.close(counters);
      return;
    }
    this.#denials.forgetKnown(counters, received);
    const lease = leaseOf(this.#rule, counter.group, receipt, reply, sent);
    if (account.isClosed) {
      this.#giveBack([lease]);
      return;
    }
    grant(account, lease, room);
    this.#lookAt(lease.until, received);
  }

  /** Returns the unspent units of a subject's expired leases. */
  giveBackEnded(account: SubjectAccount, now: number): void {
    if (account.leases.length > 0) this.#giveBack(takeEnded(account, now));
  }

  #giveBackLate({ counters, cost }: DecideCall, reply: readonly number[]): void {
    const { counted } = this.#place;
    const { store } = counted;
    const { allowed, receipts } = readReply(counted, counters as SubjectCounter[], cost, reply);
    const [receipt] = receipts;
    if (!allowed || receipt === undefined) return;
    // Bypasses the watch: the store that was late is known to be down.
    const forget = (): void => this.#denials.forget(counters, store.now());
    const given = store.run(refund, receipt).then(forget);
    given.catch(() => {});
  }

  /** If the refund fails, the units recover over time like any charge. */
  #giveBack(leases: readonly Lease[]): void {
    for (const lease of leases) {
      if (lease.left > 0) this.#follow(this.#next.change(refundOf(receiptFor(lease, lease.left))));
    }
  }

  #follow(task: Promise<unknown>): void {
    const ended = Promise.allSettled([task]);
    this.#underWay.add(ended);
    void ended.then(() => this.#underWay.delete(ended));
  }

  #lookAt(until: number, now: number): void {
    this.#alarm.setBy(toMilliseconds(Math.max(this.#rule.ttl / LOOKS, until - now)));
  }

  #look(): void {
    let now: number;
    try {
      now = this.#place.counted.store.now();
    } catch {
      // The application's own clock failed; requests report that. Expired leases wait for the next check.
      return;
    }
    let next = Number.POSITIVE_INFINITY;
    for (const account of this.#accounts.values()) {
      this.giveBackEnded(account, now);
      for (const { until } of account.leases) next = Math.min(next, until);
    }
    this.#lookAt(next, now);
  }
}

function nameOf({ subject, key }: SubjectCounter): string {
  return subject.length > MAX_SUBJECT ? key : subject;
}
