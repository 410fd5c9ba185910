import { LRUCache } from "lru-cache";
import { BackgroundTimer } from "../../common/background.ts";
import { toMilliseconds } from "../../common/time.ts";
import { decide } from "../../operations/decide.ts";
import type { DecideCall, StoreDecision } from "../../operations/decide-call.ts";
import type { Receipt } from "../../operations/refund.ts";
import { refund } from "../../operations/refund.ts";
import type { SubjectCounter } from "../../policy/counters.ts";
import { receiptsOf } from "../../policy/limiter-decision.ts";
import type { PolicyOnServers } from "../cross-slot.ts";
import type { DenyCache } from "../deny-cache.ts";
import { denyCacheOf } from "../deny-cache.ts";
import { leaseHoldersOn } from "../lease-holders.ts";
import { refundMutation } from "../mutations.ts";
import type { Stage } from "../stage.ts";
import type { Lease, LeaseAccount, StoreReport } from "./lease-account.ts";
import {
  closeAccount,
  leaseOf,
  openAccount,
  receiptFor,
  recordDenial,
  recordFailure,
  recordGrant,
  remainingUnits,
  takeExpired,
} from "./lease-account.ts";
import type { LeaseSettings } from "./lease-options.ts";

/** The maximum number of accounts; the least recently used one is evicted first. */
const MAX_ACCOUNTS = 1_000;

/**
 * Accounts of longer subjects are stored by the counter's key, so that a client cannot choose how much memory it takes. Every such
 * key is longer than this, so it is never mistaken for a subject.
 */
const MAX_SUBJECT_LENGTH = 48;

/** The maximum number of checks for expired leases within the `ttl` of a lease, however many leases end at different times. */
const CHECKS_PER_TTL = 64;

/** The lease account of a subject, with the store's last report on its limits. */
export interface SubjectAccount extends LeaseAccount {
  readonly counter: SubjectCounter;
  lastReport: StoreReport | undefined;
}

/** The lease accounts of a limiter: requests leases from the store, and refunds the units that are not spent. */
export class LeaseAccounts {
  readonly #settings: LeaseSettings;
  readonly #servers: PolicyOnServers;
  /** Receives the refunds of unspent units. */
  readonly #next: Stage;
  readonly #denyCache: DenyCache;
  readonly #accounts = new LRUCache<string, SubjectAccount>({
    max: MAX_ACCOUNTS,
    dispose: (account) => this.#refund(closeAccount(account)),
  });
  readonly #inFlight = new Set<Promise<unknown>>();
  readonly #unregister: () => void;
  readonly #timer = new BackgroundTimer(() => this.#checkExpired());

  constructor(settings: LeaseSettings, next: Stage, servers: PolicyOnServers) {
    this.#settings = settings;
    this.#next = next;
    this.#servers = servers;
    const { owner } = servers.policy.store;
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
    const account = {
      ...openAccount(this.#settings),
      counter: { ...counter, subject: name },
      lastReport: undefined,
    };
    this.#accounts.set(name, account);
    return account;
  }

  /** Ends the leases of counters and refunds their units; ignores counters of other limiters. */
  endLeases(counters: readonly SubjectCounter[]): void {
    for (const counter of counters) {
      const name = accountName(counter);
      if (this.#accounts.peek(name)?.counter.key === counter.key) this.#accounts.delete(name);
    }
  }

  /** Ends the leases of all counters for which `matches` returns true, and refunds their units. */
  endLeasesIf(matches: (counter: SubjectCounter) => boolean): void {
    this.endLeases([...this.#accounts.values()].map(({ counter }) => counter).filter(matches));
  }

  /** Ends all leases and refunds their units; new ones may be taken. */
  endAllLeases(): void {
    this.#accounts.clear();
  }

  /** Ends all leases; resolves when the calls in flight have ended. */
  async close(): Promise<void> {
    this.#unregister();
    this.endAllLeases();
    this.#timer.stop();
    while (this.#inFlight.size > 0) await Promise.allSettled(this.#inFlight);
  }

  /** Requests a lease from the store. No request waits for it; a failure of the store is reported by the requests' own calls. */
  request(account: SubjectAccount, units: number): void {
    account.pendingUnits = units;
    this.#track(this.#request(account, units).catch(() => recordFailure(account)));
  }

  async #request(account: SubjectAccount, cost: number): Promise<void> {
    const { policy, monitor } = this.#servers;
    const { store } = policy;
    const { counter } = account;
    const counters = [counter];
    const sentAt = store.now();
    const call: DecideCall = { cost, mode: "charge", counters };
    const onLateReply = (late?: StoreDecision) => late && this.#refundLate(cost, late);
    const decision = await monitor.run(store, decide, call, counter.key, 0, onLateReply);
    const receivedAt = store.now();
    account.lastReport = { decision, receivedAt };
    const remaining = remainingUnits(decision);
    if (!decision.allowed) {
      recordDenial(account, remaining);
      if (decision.counters.some(({ blockedFor }) => blockedFor > 0)) this.endLeases(counters);
      return;
    }
    this.#denyCache.invalidateCached(counters, receivedAt);
    const [receipt] = receiptsOf(policy, cost, [decision]) as [Receipt];
    const lease = leaseOf(this.#settings, receipt, decision, sentAt);
    if (account.isClosed) {
      this.#refund([lease]);
      return;
    }
    recordGrant(account, lease, remaining);
    this.#scheduleCheck(lease.expiresAt, receivedAt);
  }

  /** Refunds the unspent units of a subject's expired leases. */
  refundExpired(account: SubjectAccount, now: number): void {
    if (account.leases.length > 0) this.#refund(takeExpired(account, now));
  }

  #refundLate(cost: number, decision: StoreDecision): void {
    if (!decision.allowed) return;
    const { policy } = this.#servers;
    const { store } = policy;
    for (const receipt of receiptsOf(policy, cost, [decision])) {
      // Bypasses the monitor, which knows that the late store is down.
      const invalidate = (): void => this.#denyCache.invalidate(receipt.counters, store.now());
      store
        .run(refund, receipt)
        .then(invalidate)
        .catch(() => {});
    }
  }

  /** Refunds the unspent units of leases. If a refund fails, the units recover over time like any charge. */
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

  #scheduleCheck(expiresAt: number, now: number): void {
    this.#timer.setNoLater(
      toMilliseconds(Math.max(this.#settings.ttl / CHECKS_PER_TTL, expiresAt - now)),
    );
  }

  #checkExpired(): void {
    let now: number;
    try {
      now = this.#servers.policy.store.now();
    } catch {
      // The application's own clock failed, which requests report. Expired leases wait for the next check.
      return;
    }
    let earliest = Number.POSITIVE_INFINITY;
    for (const account of this.#accounts.values()) {
      this.refundExpired(account, now);
      for (const { expiresAt } of account.leases) earliest = Math.min(earliest, expiresAt);
    }
    this.#scheduleCheck(earliest, now);
  }
}

function accountName({ subject, key }: SubjectCounter): string {
  return subject.length > MAX_SUBJECT_LENGTH ? key : subject;
}
