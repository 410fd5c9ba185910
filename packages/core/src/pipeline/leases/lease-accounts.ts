import { LRUCache } from "lru-cache";
import { BackgroundTimer } from "../../common/background.ts";
import { toMilliseconds } from "../../common/time.ts";
import type { StoreMonitor } from "../../health/store-health.ts";
import { decide } from "../../operations/decide.ts";
import type { DecideCall } from "../../operations/decide-call.ts";
import type { Receipt } from "../../operations/refund.ts";
import { refund } from "../../operations/refund.ts";
import type { CompiledPolicy } from "../../policy/compiled-policy.ts";
import type { SubjectCounter } from "../../policy/counters.ts";
import { decodeReply } from "../decode-reply.ts";
import type { DenyCache } from "../deny-cache.ts";
import { denyCacheOf } from "../deny-cache.ts";
import { leaseHoldersOn } from "../lease-holders.ts";
import { refundMutation } from "../mutations.ts";
import type { Stage } from "../stage.ts";
import {
  closeAccount,
  openAccount,
  receiptFor,
  recordDenial,
  recordFailure,
  recordGrant,
  takeExpired,
} from "./lease-account.ts";
import type { StoreReport } from "./lease-reply.ts";
import { leaseOf, remainingUnits } from "./lease-reply.ts";
import type { Lease, LeaseAccount, LeaseSettings } from "./leases.ts";

/** The most subjects kept; the least recently asked is evicted first. */
const MAX_ACCOUNTS = 1_000;

/**
 * Longer subjects are stored by their key, so that a client cannot choose how much memory it takes. Every such key is longer
 * than this.
 */
const MAX_SUBJECT_LENGTH = 48;

/** The most checks for expired leases within one lease's `ttl`, however many leases end at different times. */
const CHECKS_PER_TTL = 64;

/** The leases of a subject, and the store's report with the last one. */
export interface SubjectAccount extends LeaseAccount {
  readonly counter: SubjectCounter;
  lastReport: StoreReport | undefined;
}

/** Where leases are asked for. */
export interface LeaseDeps {
  readonly policy: CompiledPolicy;
  readonly monitor: StoreMonitor;
}

/** The leases of a limiter's subjects: takes them from the store and returns the rest. */
export class LeaseAccounts {
  readonly #settings: LeaseSettings;
  readonly #deps: LeaseDeps;
  /** Receives the refunds of unspent units. */
  readonly #next: Stage;
  readonly #denyCache: DenyCache;
  readonly #accounts = new LRUCache<string, SubjectAccount>({
    max: MAX_ACCOUNTS,
    dispose: (account) => this.#refund(closeAccount(account)),
  });
  readonly #inFlight = new Set<Promise<unknown>>();
  readonly #unregister: () => void;
  readonly #alarm = new BackgroundTimer(() => this.#checkExpired());

  constructor(rule: LeaseSettings, next: Stage, place: LeaseDeps) {
    this.#settings = rule;
    this.#next = next;
    this.#deps = place;
    const { owner } = place.policy.store;
    this.#denyCache = denyCacheOf(owner);
    this.#unregister = leaseHoldersOn(owner).add(this);
  }

  /** The account of a subject, unless it is stored by key. */
  findBySubject(subject: string): SubjectAccount | undefined {
    return subject.length > MAX_SUBJECT_LENGTH ? undefined : this.#accounts.get(subject);
  }

  find(counter: SubjectCounter): SubjectAccount | undefined {
    return this.#accounts.get(accountName(counter));
  }

  open(counter: SubjectCounter): SubjectAccount {
    const name = accountName(counter);
    const kept = { ...counter, subject: name };
    const account = { ...openAccount(this.#settings), counter: kept, lastReport: undefined };
    this.#accounts.set(name, account);
    return account;
  }

  /** Returns the leases of those counters that belong to this limiter. */
  endLeases(counters: readonly SubjectCounter[]): void {
    for (const counter of counters) {
      const name = accountName(counter);
      if (this.#accounts.peek(name)?.counter.key === counter.key) this.#accounts.delete(name);
    }
  }

  /** Returns the leases of counters for which `isOver` is true. */
  endLeasesIf(isOver: (counter: SubjectCounter) => boolean): void {
    this.endLeases([...this.#accounts.values()].map(({ counter }) => counter).filter(isOver));
  }

  /** Returns all leases; new ones can still be taken. */
  endAllLeases(): void {
    this.#accounts.clear();
  }

  /** Returns all leases; resolves when the calls in progress have ended. */
  async close(): Promise<void> {
    this.#unregister();
    this.endAllLeases();
    this.#alarm.stop();
    while (this.#inFlight.size > 0) await Promise.allSettled(this.#inFlight);
  }

  /** Asks the store for a lease. No request waits for it; if the store fails, the requests' own calls report it. */
  request(account: SubjectAccount, units: number): void {
    account.pendingUnits = units;
    this.#track(this.#request(account, units).catch(() => recordFailure(account)));
  }

  async #request(account: SubjectAccount, cost: number): Promise<void> {
    const { policy, monitor } = this.#deps;
    const { store } = policy;
    const { counter } = account;
    const counters = [counter];
    const sent = store.now();
    const call: DecideCall = { cost, mode: "charge", counters };
    const late = (found?: readonly number[]) => found && this.#refundLate(call, found);
    const reply = await monitor.run(store, decide, call, counter.key, 0, late);
    const { allowed, blocked, receipts } = decodeReply(policy, counters, cost, reply);
    const [receipt] = receipts as [Receipt];
    const receivedAt = store.now();
    account.lastReport = { reply, receivedAt };
    const room = remainingUnits(counter.group, reply);
    if (!allowed) {
      recordDenial(account, room);
      if (blocked) this.endLeases(counters);
      return;
    }
    this.#denyCache.invalidateCached(counters, receivedAt);
    const lease = leaseOf(this.#settings, counter.group, receipt, reply, sent);
    if (account.isClosed) {
      this.#refund([lease]);
      return;
    }
    recordGrant(account, lease, room);
    this.#scheduleCheck(lease.expiresAt, receivedAt);
  }

  /** Returns the unspent units of a subject's expired leases. */
  refundExpired(account: SubjectAccount, now: number): void {
    if (account.leases.length > 0) this.#refund(takeExpired(account, now));
  }

  #refundLate({ counters, cost }: DecideCall, reply: readonly number[]): void {
    const { policy } = this.#deps;
    const { store } = policy;
    const { allowed, receipts } = decodeReply(policy, counters as SubjectCounter[], cost, reply);
    const [receipt] = receipts;
    if (!allowed || receipt === undefined) return;
    // Bypasses the watch: the store that was late is known to be down.
    const forget = (): void => this.#denyCache.invalidate(counters, store.now());
    const given = store.run(refund, receipt).then(forget);
    given.catch(() => {});
  }

  /** If the refund fails, the units recover over time like any charge. */
  #refund(leases: readonly Lease[]): void {
    for (const lease of leases) {
      if (lease.unspent > 0)
        this.#track(this.#next.mutate(refundMutation(receiptFor(lease, lease.unspent))));
    }
  }

  #track(task: Promise<unknown>): void {
    const ended = Promise.allSettled([task]);
    this.#inFlight.add(ended);
    void ended.then(() => this.#inFlight.delete(ended));
  }

  #scheduleCheck(until: number, now: number): void {
    this.#alarm.setNoLater(
      toMilliseconds(Math.max(this.#settings.ttl / CHECKS_PER_TTL, until - now)),
    );
  }

  #checkExpired(): void {
    let now: number;
    try {
      now = this.#deps.policy.store.now();
    } catch {
      // The application's own clock failed; requests report that. Expired leases wait for the next check.
      return;
    }
    let next = Number.POSITIVE_INFINITY;
    for (const account of this.#accounts.values()) {
      this.refundExpired(account, now);
      for (const { expiresAt } of account.leases) next = Math.min(next, expiresAt);
    }
    this.#scheduleCheck(next, now);
  }
}

function accountName({ subject, key }: SubjectCounter): string {
  return subject.length > MAX_SUBJECT_LENGTH ? key : subject;
}
