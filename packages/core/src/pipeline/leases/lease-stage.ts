import type { Decision } from "../../common/decision.ts";
import { GLOBAL_DIMENSION } from "../../common/policy.ts";
import { isCharging } from "../../operations/decide-call.ts";
import type { Receipt } from "../../operations/refund.ts";
import type { SubjectCounter } from "../../policy/counters.ts";
import { GLOBAL_SUBJECT } from "../../policy/counters.ts";
import { emptyReceipt, LimiterDecision } from "../../policy/limiter-decision.ts";
import { refundsOf } from "../../slots/held-slots.ts";
import type { PolicyOnServers } from "../cross-slot.ts";
import type { DecisionRequest } from "../decision-request.ts";
import type { Stage } from "../stage.ts";
import type { Lease, StoreReport } from "./lease-account.ts";
import {
  findLease,
  reportedLimits,
  returnToLease,
  spend,
  unitsToLeaseNext,
  unitsToLeaseWithRequest,
  unspentUnits,
} from "./lease-account.ts";
import type { SubjectAccount } from "./lease-accounts.ts";
import { LeaseAccounts } from "./lease-accounts.ts";
import type { LeaseSettings } from "./lease-options.ts";

/**
 * Pays requests from leases of this process without a call, and passes all others to the next stage. If the requests of a subject
 * follow each other closely, such a request also requests a lease.
 */
export function createLeaseStage(
  next: Stage,
  settings: LeaseSettings,
  servers: PolicyOnServers,
): Stage {
  const { policy } = servers;
  const { store } = policy;
  const accounts = new LeaseAccounts(settings, next, servers);
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
    const units = unitsToLeaseNext(account);
    if (units > 0) accounts.request(account, units);
    return leaseDecision(account, cost, unspentUnits(account), now, [
      receiptOf(account, lease, cost),
    ]);
  }

  function leaseDecision(
    account: SubjectAccount,
    cost: number,
    unspent: number,
    now: number,
    receipts: readonly Receipt[],
  ): Decision {
    const limits = reportedLimits(
      account.counter.group,
      account.lastReport as StoreReport,
      unspent,
      now,
    );
    return new LimiterDecision(policy, { allowed: true, limits, cost, source: "lease", receipts });
  }

  function receiptOf(account: SubjectAccount, lease: Lease, cost: number): Receipt {
    const { chargedAt, counters, generations } = lease.receipt;
    const returnUnits = (): boolean => {
      const isReturned = returnToLease(account, lease, cost, store.now());
      if (isReturned) refundsOf(store.owner).notify(counters);
      return isReturned;
    };
    return { cost, chargedAt, counters, generations, returnToLease: returnUnits };
  }

  /** Sends the request before it requests a lease, which may take only units that the request leaves. */
  async function decideInStore(
    request: DecisionRequest,
    account: SubjectAccount,
    now: number,
  ): Promise<Decision> {
    const decided = next.decide(request);
    accounts.refundExpired(account, now);
    const units = unitsToLeaseWithRequest(account, request.cost, now);
    if (units > 0) accounts.request(account, units);
    const decision = await decided;
    if (decision.blocked) accounts.endLeases(request.counters);
    if (decision.source === "store") {
      account.remainingInStore = Math.min(...decision.limits.map(({ remaining }) => remaining));
    }
    return decision;
  }

  /** Reports the limits for a cost of 0: as in the store, plus the unspent leased units, which are charged there already. */
  async function reportLimits(
    request: DecisionRequest,
    account: SubjectAccount | undefined,
    now: number,
  ): Promise<Decision> {
    if (account !== undefined) accounts.refundExpired(account, now);
    const unspent = account === undefined ? 0 : unspentUnits(account);
    const decision = await next.decide(request);
    if (account === undefined || unspent === 0) return decision;
    const receipts = request.mode === "peek" ? [] : [emptyReceipt(request.counters)];
    if (decision.degraded) return leaseDecision(account, 0, unspent, now, receipts);
    const limits = decision.limits.map((limit) => {
      const left = limit.remaining - limit.overdrawn + unspent;
      const remaining = Math.min(limit.limit, Math.max(0, left));
      return { ...limit, remaining, overdrawn: Math.max(0, 0 - left) };
    });
    return new LimiterDecision(policy, { ...decision, limits, receipts });
  }

  return {
    ...next,

    admitFromLease(subject, cost) {
      const name = isGlobal && typeof subject === "string" ? GLOBAL_SUBJECT : subject;
      const account = typeof name === "string" ? accounts.findBySubject(name) : undefined;
      if (account === undefined) return undefined;
      const now = store.now();
      const lease = findLease(account, cost, now);
      return lease && payFromLease(account, lease, cost, now);
    },

    decide(request) {
      const { counters, cost, mode } = request;
      const counter = counters[0] as SubjectCounter;
      if (counter.overrideEffect !== undefined) {
        // Limits under an override lease nothing. `endLeases` of this stage cannot find them if a long subject is stored by key.
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

    endLeases: (matches) => accounts.endLeasesIf(matches),

    async close() {
      await accounts.close();
      await next.close();
    },
  };
}
