import type { Decision } from "../../common/decision.ts";
import { GLOBAL_DIMENSION } from "../../common/policy.ts";
import { isCharging } from "../../operations/decide-call.ts";
import type { Receipt } from "../../operations/refund.ts";
import type { SubjectCounter } from "../../policy/counters.ts";
import { GLOBAL_SUBJECT } from "../../policy/counters.ts";
import { emptyReceipt, LimiterDecision } from "../../policy/limiter-decision.ts";
import type { DecisionRequest, Stage } from "../stage.ts";
import {
  findLease,
  returnToLease,
  spend,
  unitsToLeaseNext,
  unitsToLeaseWithRequest,
  unspentUnits,
} from "./lease-account.ts";
import type { LeaseDeps, SubjectAccount } from "./lease-accounts.ts";
import { LeaseAccounts } from "./lease-accounts.ts";
import type { StoreReport } from "./lease-reply.ts";
import { reportedLimits } from "./lease-reply.ts";
import type { Lease, LeaseSettings } from "./leases.ts";

/** Pays requests from leases, and passes the others to the next link; for a hot subject, such a request also asks for a lease. */
export function createLeaseStage(next: Stage, settings: LeaseSettings, deps: LeaseDeps): Stage {
  const { policy } = deps;
  const { store } = policy;
  const accounts = new LeaseAccounts(settings, next, deps);
  const isGlobal = policy.groups[0]?.dimension === GLOBAL_DIMENSION;

  function payFromLease(
    account: SubjectAccount,
    lease: Lease,
    cost: number,
    now: number,
  ): Decision {
    // The second lease may have expired: its units no longer count, and it would prevent another one.
    if (account.leases.length > 1) accounts.refundExpired(account, now);
    spend(account, lease, cost);
    const wanted = unitsToLeaseNext(account);
    if (wanted > 0) accounts.request(account, wanted);
    return leaseDecision(account, cost, unspentUnits(account), now, [
      receiptOf(account, lease, cost),
    ]);
  }

  function leaseDecision(
    account: SubjectAccount,
    cost: number,
    left: number,
    now: number,
    receipts: readonly Receipt[],
  ): Decision {
    const limits = reportedLimits(
      account.counter.group,
      account.lastReport as StoreReport,
      left,
      now,
    );
    return new LimiterDecision(policy, { allowed: true, limits, cost, source: "lease", receipts });
  }

  function receiptOf(account: SubjectAccount, lease: Lease, cost: number): Receipt {
    const { chargedAt, counters, generations } = lease.receipt;
    const returnUnits = (): boolean => returnToLease(account, lease, cost, store.now());
    return { cost, chargedAt, counters, generations, returnToLease: returnUnits };
  }

  /** The request goes first: a lease takes from what the request leaves. */
  async function decideInStore(
    request: DecisionRequest,
    account: SubjectAccount,
    now: number,
  ): Promise<Decision> {
    const asked = next.decide(request);
    accounts.refundExpired(account, now);
    const wanted = unitsToLeaseWithRequest(account, request.cost, now);
    if (wanted > 0) accounts.request(account, wanted);
    const decision = await asked;
    if (decision.blocked) accounts.endLeases(request.counters);
    if (decision.source === "store") {
      account.remainingInStore = Math.min(...decision.limits.map(({ remaining }) => remaining));
    }
    return decision;
  }

  /** The limits as they are in the store, plus the units held here, which are charged there but not yet spent. */
  async function reportLimits(
    request: DecisionRequest,
    account: SubjectAccount | undefined,
    now: number,
  ): Promise<Decision> {
    if (account !== undefined) accounts.refundExpired(account, now);
    const held = account === undefined ? 0 : unspentUnits(account);
    const decision = await next.decide(request);
    if (account === undefined || held === 0) return decision;
    const receipts = request.mode === "peek" ? [] : [emptyReceipt(request.counters)];
    if (decision.degraded) return leaseDecision(account, 0, held, now, receipts);
    const limits = decision.limits.map((limit) => {
      const left = limit.remaining - limit.overdrawn + held;
      const remaining = Math.min(limit.limit, Math.max(0, left));
      return { ...limit, remaining, overdrawn: Math.max(0, 0 - left) };
    });
    return new LimiterDecision(policy, { ...decision, limits, receipts });
  }

  return {
    ...next,

    admitFromLease(subject, cost) {
      const known = isGlobal && typeof subject === "string" ? GLOBAL_SUBJECT : subject;
      const account = typeof known === "string" ? accounts.findBySubject(known) : undefined;
      if (account === undefined) return undefined;
      const now = store.now();
      const lease = findLease(account, cost, now);
      return lease && payFromLease(account, lease, cost, now);
    },

    decide(request) {
      const { counters, cost, mode } = request;
      const counter = counters[0] as SubjectCounter;
      if (counter.overrideEffect !== undefined) {
        // `endLeases` cannot tell whose account it is if a long subject is stored by key.
        accounts.endLeases(counters);
        return next.decide(request);
      }
      const account = accounts.find(counter);
      const now = store.now();
      if (cost === 0) return reportLimits(request, account, now);
      const lease = account && findLease(account, cost, now);
      const charges = isCharging(mode);
      if (account === undefined || lease === undefined) {
        if (!charges) return next.decide(request);
        return decideInStore(request, account ?? accounts.open(counter), now);
      }
      if (charges) return payFromLease(account, lease, cost, now);
      accounts.refundExpired(account, now);
      return leaseDecision(account, cost, unspentUnits(account) - cost, now, []);
    },

    endLeases: (isOver) => accounts.endLeasesIf(isOver),

    async close() {
      await accounts.close();
      await next.close();
    },
  };
}
