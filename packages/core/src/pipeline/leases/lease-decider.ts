import type { Decision } from "../../common/decision.ts";
import { GLOBAL_DIMENSION } from "../../common/policy.ts";
import { isCharging } from "../../operations/decide-call.ts";
import type { Receipt } from "../../operations/refund.ts";
import type { SubjectCounter } from "../../policy/counters.ts";
import { EVERYBODY } from "../../policy/counters.ts";
import { LimiterDecision, uncharged } from "../../policy/limiter-decision.ts";
import type { DecisionRequest, Stage } from "../stage.ts";
import type { LeaseStore, SubjectAccount } from "./lease-accounts.ts";
import { LeaseAccounts } from "./lease-accounts.ts";
import { findLease, returnToLease, spend, unitsLeft, wantMore, wantNext } from "./lease-book.ts";
import type { Reported } from "./lease-reply.ts";
import { limitsFrom } from "./lease-reply.ts";
import type { Lease, LeaseRule } from "./leases.ts";

/** Pays requests from leases, and passes the others to the next link; for a hot subject, such a request also asks for a lease. */
export function leaseStage(next: Stage, rule: LeaseRule, place: LeaseStore): Stage {
  const { counted } = place;
  const { store } = counted;
  const accounts = new LeaseAccounts(rule, next, place);
  const isGlobal = counted.groups[0]?.dimension === GLOBAL_DIMENSION;

  function pay(account: SubjectAccount, lease: Lease, cost: number, now: number): Decision {
    // The second lease may have expired: its units no longer count, and it would prevent another one.
    if (account.leases.length > 1) accounts.giveBackEnded(account, now);
    spend(account, lease, cost);
    const wanted = wantNext(account);
    if (wanted > 0) accounts.request(account, wanted);
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
    return new LimiterDecision(counted, { allowed: true, limits, cost, source: "lease", receipts });
  }

  function receiptOf(account: SubjectAccount, lease: Lease, cost: number): Receipt {
    const { charged, counters, generations } = lease.receipt;
    const putBackHere = (): boolean => returnToLease(account, lease, cost, store.now());
    return { cost, charged, counters, generations, returnToLease: putBackHere };
  }

  /** The request goes first: a lease takes from what the request leaves. */
  async function decideInStore(
    request: DecisionRequest,
    account: SubjectAccount,
    now: number,
  ): Promise<Decision> {
    const asked = next.decide(request);
    accounts.giveBackEnded(account, now);
    const wanted = wantMore(account, request.cost, now);
    if (wanted > 0) accounts.request(account, wanted);
    const decision = await asked;
    if (decision.blocked) accounts.close(request.counters);
    if (decision.source === "store") {
      account.room = Math.min(...decision.limits.map(({ remaining }) => remaining));
    }
    return decision;
  }

  /** The limits as they are in the store, plus the units held here, which are charged there but not yet spent. */
  async function look(
    request: DecisionRequest,
    account: SubjectAccount | undefined,
    now: number,
  ): Promise<Decision> {
    if (account !== undefined) accounts.giveBackEnded(account, now);
    const held = account === undefined ? 0 : unitsLeft(account);
    const decision = await next.decide(request);
    if (account === undefined || held === 0) return decision;
    const receipts = request.mode === "peek" ? [] : [uncharged(request.counters)];
    if (decision.degraded) return decisionOf(account, 0, held, now, receipts);
    const limits = decision.limits.map((limit) => {
      const left = limit.remaining - limit.overdrawn + held;
      const remaining = Math.min(limit.limit, Math.max(0, left));
      return { ...limit, remaining, overdrawn: Math.max(0, 0 - left) };
    });
    return new LimiterDecision(counted, { ...decision, limits, receipts });
  }

  return {
    ...next,

    admit(subject, cost) {
      const known = isGlobal && typeof subject === "string" ? EVERYBODY : subject;
      const account = typeof known === "string" ? accounts.findKnown(known) : undefined;
      if (account === undefined) return undefined;
      const now = store.now();
      const lease = findLease(account, cost, now);
      return lease && pay(account, lease, cost, now);
    },

    decide(request) {
      const { counters, cost, mode } = request;
      const counter = counters[0] as SubjectCounter;
      if (counter.terms !== undefined) {
        // `endLeases` cannot tell whose account it is if a long subject is stored by key.
        accounts.close(counters);
        return next.decide(request);
      }
      const account = accounts.find(counter);
      const now = store.now();
      if (cost === 0) return look(request, account, now);
      const lease = account && findLease(account, cost, now);
      const charges = isCharging(mode);
      if (account === undefined || lease === undefined) {
        if (!charges) return next.decide(request);
        return decideInStore(request, account ?? accounts.open(counter), now);
      }
      if (charges) return pay(account, lease, cost, now);
      accounts.giveBackEnded(account, now);
      return decisionOf(account, cost, unitsLeft(account) - cost, now, []);
    },

    endLeases: (isOver) => accounts.closeIf(isOver),

    async close() {
      await accounts.closeAll();
      await next.close();
    },
  };
}
