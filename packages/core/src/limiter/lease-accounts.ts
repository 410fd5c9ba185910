import { AsyncResource } from "node:async_hooks";
import { LRUCache } from "lru-cache";
import type { DecideCall } from "../store/decide.ts";
import { decide } from "../store/decide.ts";
import { refund } from "../store/refund.ts";
import type { Store } from "../store/store.ts";
import { toMilliseconds } from "../time.ts";
import type { Counters } from "./counters.ts";
import type { DenyCache } from "./deny-cache.ts";
import type { Lease, LeaseAccount, LeaseRule } from "./lease-book.ts";
import {
  closeAccount,
  deny,
  grant,
  lose,
  openAccount,
  receiptFor,
  takeEnded,
} from "./lease-book.ts";
import type { Told } from "./lease-reply.ts";
import { leaseOf, roomOf } from "./lease-reply.ts";
import { readReply } from "./read-reply.ts";
import type { StoreReturns } from "./store-returns.ts";
import type { StoreWatch } from "./store-watch.ts";
import type { GroupUnit } from "./units.ts";

/** So many subjects are kept, the least recently asked given up first. */
const MAX_ACCOUNTS = 1_000;

/** While any lease lasts, so many times in the time of one it is looked for those that are over. */
const LOOKS = 4;

/** The leases of a subject, and what the store told with the last one. */
export interface SubjectAccount extends LeaseAccount {
  readonly unit: GroupUnit;
  told: Told | undefined;
}

/** Where leases are asked for, and given back. */
export interface LeaseStore {
  readonly counters: Counters;
  readonly watch: StoreWatch;
  readonly returns: StoreReturns;
  readonly denials: DenyCache;
}

/** The accounts of a limiter's subjects: what is asked of the store for them, and given back to it. */
export class LeaseAccounts {
  readonly #rule: LeaseRule;
  readonly #place: LeaseStore;
  /** The store, which gives back what it charged for a lease too late. */
  readonly #asked: Store;
  readonly #accounts = new LRUCache<string, SubjectAccount>({
    max: MAX_ACCOUNTS,
    dispose: (account) => this.#giveBack(closeAccount(account)),
  });
  readonly #underWay = new Set<Promise<unknown>>();
  /** The timer is none of a request's, whose context it would keep. */
  readonly #scope = new AsyncResource("HeadgateLeases");
  #timer: NodeJS.Timeout | undefined;

  constructor(rule: LeaseRule, place: LeaseStore) {
    this.#rule = rule;
    this.#place = place;
    const { store } = place.counters;
    this.#asked = {
      ...store,
      run: async (step, call, waiter) => {
        const reply = await store.run(step, call, waiter);
        if (waiter?.isOver) this.#giveBackLate(call as DecideCall, reply);
        return reply;
      },
    };
  }

  find(subject: string): SubjectAccount | undefined {
    return this.#accounts.get(subject);
  }

  open(unit: GroupUnit): SubjectAccount {
    const account = { ...openAccount(this.#rule), unit, told: undefined };
    this.#accounts.set(unit.subject, account);
    return account;
  }

  /** Gives the leases of subjects up. */
  close(units: readonly GroupUnit[]): void {
    for (const { subject } of units) this.#accounts.delete(subject);
  }

  /** Gives all leases up; resolves when what is under way has ended. */
  async closeAll(): Promise<void> {
    this.#accounts.clear();
    clearTimeout(this.#timer);
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay);
  }

  /** Asks the store for a lease. Nobody waits for it: what the store has to say of it, it tells those who ask for themselves. */
  ask(account: SubjectAccount, units: number): void {
    account.asking = units;
    this.#follow(this.#ask(account, units).catch(() => lose(account)));
  }

  async #ask(account: SubjectAccount, cost: number): Promise<void> {
    const { counters, watch, denials } = this.#place;
    const { store } = counters;
    const { unit } = account;
    const units = [unit];
    const sent = store.now();
    const reply = await watch.run(this.#asked, decide, { cost, mode: "charge", units }, unit.key);
    const { allowed, receipt } = readReply(counters, units, cost, reply);
    const received = store.now();
    account.told = { reply, received };
    const room = roomOf(unit.group, reply);
    if (!allowed) {
      deny(account, room);
      return;
    }
    denials.forgetKnown(units, received);
    const lease = leaseOf(this.#rule, unit.group, receipt, reply, sent);
    if (account.isClosed) {
      this.#giveBack([lease]);
      return;
    }
    grant(account, lease, room);
    this.#lookLater();
  }

  #giveBackLate({ units, cost }: DecideCall, reply: readonly number[]): void {
    const { counters, denials } = this.#place;
    const { store } = counters;
    const { allowed, receipt } = readReply(counters, units as GroupUnit[], cost, reply);
    if (!allowed) return;
    // At once, on the way on which it came: the store that was late is known to be down.
    // Nobody waits for it, as there is no time within which it is answered.
    store.run(refund, receipt).then(() => denials.forget(units, store.now()), noop);
  }

  /** What cannot be given back comes back by itself, as all that was charged. */
  #giveBack(leases: readonly Lease[]): void {
    for (const lease of leases) {
      if (lease.left > 0) this.#follow(this.#place.returns.refund([receiptFor(lease, lease.left)]));
    }
  }

  #follow(task: Promise<unknown>): void {
    const ended = task.then(noop, noop);
    this.#underWay.add(ended);
    void ended.then(() => this.#underWay.delete(ended));
  }

  #lookLater(): void {
    const wait = toMilliseconds(this.#rule.ttl / LOOKS);
    this.#timer ??= this.#scope.runInAsyncScope(() => setTimeout(() => this.#look(), wait).unref());
  }

  #look(): void {
    this.#timer = undefined;
    const now = this.#place.counters.store.now();
    let isAnyHeld = false;
    for (const account of this.#accounts.values()) {
      this.#giveBack(takeEnded(account, now));
      isAnyHeld ||= account.leases.length > 0;
    }
    if (isAnyHeld) this.#lookLater();
  }
}

function noop(): void {}
