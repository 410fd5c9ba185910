import type { Decision } from "../../decision.ts";
import { GLOBAL_DIMENSION } from "../../policy.ts";
import type { DecideMode } from "../../store/decide-call.ts";
import { isCharging, isSettled } from "../../store/decide-call.ts";
import type { Receipt } from "../../store/refund.ts";
import { CountedDecision, returnReceipts, takeReceipts, uncharged } from "../counted-decision.ts";
import type { SubjectCounter } from "../counters.ts";
import { EVERYBODY } from "../counters.ts";
import type { Decider } from "../decider.ts";
import type { LeaseStore, SubjectAccount } from "./lease-accounts.ts";
import { LeaseAccounts } from "./lease-accounts.ts";
import { findLease, putBack, spend, unitsLeft, wantBeside, wantNext } from "./lease-book.ts";
import type { Reported } from "./lease-reply.ts";
import { limitsFrom } from "./lease-reply.ts";
import type { Lease, LeaseRule } from "./leases.ts";

/** What was charged for a decision that a lease paid: its units can go back where they came from. */
interface LeaseReceipt extends Receipt {
  readonly account: SubjectAccount;
  readonly lease: Lease;
}

/** Pays requests of one unit from leases, and lets `inner` decide the others; for a hot subject these also ask for a lease. */
export function createLeaseDecider(inner: Decider, rule: LeaseRule, place: LeaseStore): Decider {
  const { counted } = place;
  const { store } = counted;
  const accounts = new LeaseAccounts(rule, place);
  const isGlobal = counted.groups[0]?.dimension === GLOBAL_DIMENSION;

  function pay(account: SubjectAccount, lease: Lease, cost: number, now: number): Decision {
    // Beside the one that pays there may be one that is over: its units are not left, and it would keep the next one away.
    if (account.leases.length > 1) accounts.giveBackEnded(account, now);
    spend(account, lease, cost);
    const wanted = wantNext(account);
    if (wanted > 0) accounts.ask(account, wanted);
    return decisionOf(account, cost, unitsLeft(account), now, [receiptOf(account, lease, cost)]);
  }

  function decisionOf(
    account: SubjectAccount,
    cost: number,
    left: number,
    now: number,
    receipts: readonly Receipt[],
  ): Decision {
    const limits = limitsFrom(account.counter.group, account.reported as Reported, left, now);
    return new CountedDecision(counted, {
      allowed: true,
      limits,
      cost,
      source: "lease",
      receipts,
    });
  }

  /** The request goes first: a lease takes from what it leaves. */
  async function decideInStore(
    counters: readonly SubjectCounter[],
    cost: number,
    mode: DecideMode,
    account: SubjectAccount,
    now: number,
    waitedMs: number | undefined,
  ): Promise<Decision> {
    const asked = inner.decide(counters, cost, mode, waitedMs);
    accounts.giveBackEnded(account, now);
    const wanted = wantBeside(account, cost, now);
    if (wanted > 0) accounts.ask(account, wanted);
    const decision = await asked;
    if (decision.blocked) accounts.close(counters);
    if (decision.source === "store") {
      account.room = Math.min(...decision.limits.map(({ remaining }) => remaining));
    }
    return decision;
  }

  /** The limits as they are in the store, plus the units held here, which are charged there but not spent. */
  async function look(
    counters: readonly SubjectCounter[],
    account: SubjectAccount | undefined,
    mode: DecideMode,
    now: number,
    waitedMs: number | undefined,
  ): Promise<Decision> {
    if (account !== undefined) accounts.giveBackEnded(account, now);
    const held = account === undefined ? 0 : unitsLeft(account);
    const decision = await inner.decide(counters, 0, mode, waitedMs);
    if (account === undefined || held === 0) return decision;
    const receipts = isSettled(mode) ? [uncharged(counters)] : [];
    if (decision.degraded) return decisionOf(account, 0, held, now, receipts);
    const limits = decision.limits.map((limit) => {
      const left = limit.remaining - limit.overdrawn + held;
      const remaining = Math.min(limit.limit, Math.max(0, left));
      return { ...limit, remaining, overdrawn: Math.max(0, 0 - left) };
    });
    return new CountedDecision(counted, { ...decision, limits, receipts });
  }

  return {
    watch: inner.watch,

    admitKnown(subject, cost) {
      const known = isGlobal && typeof subject === "string" ? EVERYBODY : subject;
      const account = typeof known === "string" ? accounts.findKnown(known) : undefined;
      if (account === undefined) return undefined;
      const now = store.now();
      const lease = findLease(account, cost, now);
      return lease && pay(account, lease, cost, now);
    },

    decide(counters, cost, mode, waitedMs) {
      const counter = counters[0] as SubjectCounter;
      if (counter.terms !== undefined) {
        // Of a longer subject, `endLeases` does not know whose it is.
        accounts.close(counters);
        return inner.decide(counters, cost, mode, waitedMs);
      }
      const account = accounts.find(counter);
      const now = store.now();
      if (cost === 0) return look(counters, account, mode, now, waitedMs);
      const lease = account && findLease(account, cost, now);
      if (account === undefined || lease === undefined) {
        if (!isCharging(mode)) return inner.decide(counters, cost, mode, waitedMs);
        return decideInStore(
          counters,
          cost,
          mode,
          account ?? accounts.open(counter),
          now,
          waitedMs,
        );
      }
      if (isCharging(mode)) return Promise.resolve(pay(account, lease, cost, now));
      accounts.giveBackEnded(account, now);
      return Promise.resolve(decisionOf(account, cost, unitsLeft(account) - cost, now, []));
    },

    endLeases: (isOverridden) => accounts.closeIf(isOverridden),

    async giveBack(decision) {
      const [receipt] = takeReceipts(decision, counted) as readonly Partial<LeaseReceipt>[];
      const { account, lease, cost } = receipt ?? {};
      if (account && lease && cost && putBack(account, lease, cost, store.now())) return true;
      returnReceipts(decision);
      return inner.giveBack(decision);
    },

    charge: inner.charge,
    settle: inner.settle,
    block: inner.block,
    forget: inner.forget,

    async close() {
      await accounts.closeAll();
      await inner.close();
    },
  };
}

function receiptOf(account: SubjectAccount, lease: Lease, cost: number): LeaseReceipt {
  const { charged, counters, generations } = lease.receipt;
  return { cost, charged, counters, generations, account, lease };
}
