import { channel } from "node:diagnostics_channel";
import { CHANNELS } from "../channels.ts";
import type { Charged } from "../charged.ts";
import { NOTHING_CHARGED, nothingCharged } from "../charged.ts";
import type { Cost, CostByName } from "../cost.ts";
import type { Decision } from "../decision.ts";
import type { HeadgateError } from "../errors.ts";
import type { DecideMode } from "../store/decide-call.ts";
import { isCharging } from "../store/decide-call.ts";
import type { Judgement } from "../store/judge.ts";
import { judgementsOf } from "../store/judge.ts";
import { places } from "../store/places.ts";
import type { Receipt } from "../store/refund.ts";
import { receiptBut } from "../store/refund.ts";
import type { Remote } from "../store/store.ts";
import { askStore } from "./ask-store.ts";
import { askedOf, largestCost } from "./costs.ts";
import {
  CountedDecision,
  isCharged,
  isSettledByNumber,
  outcomeOn,
  returnReceipts,
  takeReceipts,
} from "./counted-decision.ts";
import type { CountedPolicy } from "./counted-policy.ts";
import { limitsOfUnits } from "./counted-policy.ts";
import type { SubjectCounter } from "./counters.ts";
import type { Decider } from "./decider.ts";
import type { KnownDenial } from "./deny-cache.ts";
import { denyCacheOf } from "./deny-cache.ts";
import { Flights, land } from "./flights.ts";
import { closeLeases } from "./leases/lease-accounts.ts";
import { createLeaseDecider } from "./leases/lease-decider.ts";
import type { DegradedDecision, FailurePolicy } from "./outage/outage.ts";
import { createStoreCharges } from "./outage/store-charges.ts";
import { requireUnreached, storeFailure } from "./outage/store-failure.ts";
import { createStoreReturns } from "./outage/store-returns.ts";
import { watchStore } from "./outage/store-watch.ts";
import { prepareWithoutStore } from "./outage/without-store.ts";
import { keepPlaces, takePlaces } from "./places/keep-places.ts";
import type { HeldPlaces } from "./places/places.ts";
import { publish } from "./publish.ts";
import { settleByName, settlementOf, unsettled } from "./settle-by-name.ts";
import type { Answer } from "./slots/slots.ts";

const NOTHING: Answer["receipts"] = [];

const UNREACHED: Charged = { counted: 0, cut: 0, degraded: true };

const UNREACHED_BY_NAME: Charged<CostByName> = { counted: {}, cut: {}, degraded: true };

const degradedDecisions = channel(CHANNELS.degraded);

/**
 * Decides on servers, which may be away: what is known to be denied from the deny cache, the rest in the store, and what
 * the store did not decide in time as the failure policy says.
 */
export function createRemoteDecider(
  name: string,
  counted: CountedPolicy,
  remote: Remote,
  failure: FailurePolicy,
  flights: Flights = new Flights(),
): Decider {
  const { store } = counted;
  const watch = watchStore(store.owner, remote, failure);
  const release = watch.use();
  const denials = denyCacheOf(store.owner);
  const withoutStore = prepareWithoutStore(counted, failure);
  const returns = createStoreReturns(store, remote, watch, denials);
  const charges = createStoreCharges(store, remote, watch, denials);
  const keeping = counted.hasPlaces
    ? keepPlaces(store, (call, key) => watch.run(store, places, call, key), counted.reported)
    : undefined;
  const asked = { counted, watch, remote, giveBack: returns.refund };

  function remember(
    { allowed, blocked, limits, receipts, lasting }: Answer,
    counters: readonly SubjectCounter[],
    cost: number,
    mode: DecideMode,
    sent: number,
    taken: HeldPlaces | undefined,
  ): Decision {
    if (allowed && isCharging(mode)) denials.forgetKnown(askedOf(counters), store.now());
    if (failure.denyCache && lasting.length > 0) {
      denials.remember(lasting, cost, sent, store.now());
    }
    const source = "store";
    const places = allowed ? taken : undefined;
    places?.hold();
    const outcome = { allowed, blocked, limits, cost, source, receipts, places } as const;
    return new CountedDecision(counted, outcomeOn(counters, outcome));
  }

  async function decideWithout(
    error: unknown,
    counters: readonly SubjectCounter[],
    cost: number,
    mode: DecideMode,
  ): Promise<Decision> {
    const reason = storeFailure(error, watch.notices);
    const decision = await withoutStore.decide(counters, cost, mode);
    if (degradedDecisions.hasSubscribers) {
      publish(degradedDecisions, { limiter: name, decision, reason } satisfies DegradedDecision);
    }
    return decision;
  }

  function deniedFromCache(
    { limits, blocked }: KnownDenial,
    counters: readonly SubjectCounter[],
    cost: number,
  ): Decision {
    const source = "deny-cache";
    const receipts = NOTHING;
    const outcome = { allowed: false, blocked, limits, cost, source, receipts } as const;
    return new CountedDecision(counted, outcomeOn(counters, outcome));
  }

  function ask(
    counters: readonly SubjectCounter[],
    cost: number,
    mode: DecideMode,
    sent: number,
    waitedMs: number | undefined,
  ): Promise<Decision> {
    const taken =
      isCharging(mode) && keeping !== undefined
        ? takePlaces(keeping, askedOf(counters))
        : undefined;
    const flight = flights.current;
    flight.count += 1;
    return askStore(asked, counters, cost, mode, taken, waitedMs).then(
      (answer) => {
        land(flight);
        return remember(answer, counters, cost, mode, sent, taken);
      },
      (error: unknown) => {
        land(flight);
        return decideWithout(error, counters, cost, mode);
      },
    );
  }

  /** A denial that is known here; none that is to block, which only the store can. */
  function findKnown(
    counters: readonly SubjectCounter[],
    cost: number,
    mode: DecideMode,
    sent: number,
  ): KnownDenial | undefined {
    if (!failure.denyCache || !isCharging(mode)) return undefined;
    const known = denials.find(counters, cost, sent);
    const isToBlock = mode === "enforce" && counters.some(({ shape }) => shape.blocks);
    return isToBlock && known?.blocked === false ? undefined : known;
  }

  /** Why a server of what was charged is known to be down. */
  function downReason(receipts: readonly Receipt[]): HeadgateError | undefined {
    return receipts
      .flatMap((receipt) => receipt.counters)
      .map(({ key }) => watch.downReason(key))
      .find((reason) => reason !== undefined);
  }

  /** Makes what was charged in the store another number of units, or as many. */
  async function settleThere(
    receipts: readonly Receipt[],
    cost: number,
    units: number,
    judgements: readonly Judgement[],
  ): Promise<Charged<Cost>> {
    const settled = await changeThere(receipts, cost, units);
    if (judgements.length === 0 || (await keepThere(judgements))) return settled;
    return { ...settled, degraded: true };
  }

  async function changeThere(
    receipts: readonly Receipt[],
    cost: number,
    units: number,
  ): Promise<Charged<Cost>> {
    if (units === cost) return { counted: cost, cut: 0, degraded: false };
    if (units > cost) {
      const counters = receipts.flatMap((receipt) => receipt.counters);
      const more = await charges.charge(counters, units - cost, async () => UNREACHED);
      return { ...more, counted: cost + (more.counted as number) };
    }
    const isGivenBack = await giveBackThere(receipts.map((receipt) => receiptBut(receipt, units)));
    return isGivenBack
      ? { counted: units, cut: 0, degraded: false }
      : { ...UNREACHED, counted: cost };
  }

  /** Gives back in the store; false when that did not get it. */
  function giveBackThere(receipts: readonly Receipt[]): Promise<boolean> {
    return isReached(returns.refund(receipts));
  }

  /** Counts in the store what is kept; false when that did not get it. */
  function keepThere(judgements: readonly Judgement[]): Promise<boolean> {
    return isReached(returns.judge(judgements));
  }

  async function isReached(call: Promise<unknown>): Promise<boolean> {
    try {
      await call;
      return true;
    } catch (error) {
      requireUnreached(error, watch.notices);
      return false;
    }
  }

  async function settleOneNumber(decision: Decision, units: number): Promise<Charged<Cost>> {
    const receipts = takeReceipts(decision, counted).filter(isSettledByNumber);
    // Nobody counted what was admitted by `onUnavailable: "allow"`.
    if (decision.source === "allow") return UNREACHED;
    const [receipt] = receipts;
    if (receipt === undefined) return NOTHING_CHARGED;
    const { cost } = receipt;
    const judgements = judgementsOf(receipts, units, !decision.shadow);
    const isSame = units === cost && judgements.length === 0;
    if (isSame || downReason(receipts) === undefined) {
      return settleThere(receipts, cost, units, judgements);
    }
    // Nothing was done, so it can be asked for again.
    returnReceipts(decision);
    return { ...UNREACHED, counted: cost };
  }

  async function settleEach(decision: Decision, units: CostByName): Promise<Charged<CostByName>> {
    const receipts = takeReceipts(decision, counted);
    const nothing = nothingCharged(limitsOfUnits(counted));
    if (decision.source === "allow") return { ...nothing, degraded: true };
    if (receipts.length === 0) return nothing;
    const settlement = settlementOf(receipts, units, !decision.shadow);
    const { more, less, kept } = settlement;
    const isSame = more.length === 0 && less.length === 0 && kept.length === 0;
    if (isSame || downReason(receipts) === undefined) {
      return settleByName(settlement, {
        charge: (counters) =>
          charges.charge(counters, largestCost(counters), async () => UNREACHED_BY_NAME),
        giveBack: giveBackThere,
        keep: keepThere,
      });
    }
    // Nothing was done, so it can be asked for again.
    returnReceipts(decision);
    return unsettled(settlement);
  }

  const decider: Decider = {
    watch,

    decide(counters, cost, mode, waitedMs) {
      const sent = store.now();
      const known = findKnown(counters, cost, mode, sent);
      return known === undefined
        ? ask(counters, cost, mode, sent, waitedMs)
        : Promise.resolve(deniedFromCache(known, counters, cost));
    },

    async giveBack(decision) {
      const receipts = takeReceipts(decision, counted);
      if (decision.source === "local") return withoutStore.giveBack(receipts);
      const down = downReason(receipts);
      if (down !== undefined) {
        // Nothing was done, so it can be asked for again.
        returnReceipts(decision);
        throw down;
      }
      return returns.refund(receipts.filter(isCharged));
    },

    charge: (counters, cost) =>
      charges.charge(counters, cost, (missed) => withoutStore.charge(missed, cost)),

    async settle(decision, units): Promise<Charged<Cost>> {
      if (decision.source === "local") {
        return withoutStore.settle(takeReceipts(decision, counted), units);
      }
      return typeof units === "number"
        ? settleOneNumber(decision, units)
        : settleEach(decision, units);
    },

    /** What was leased before, or meanwhile, is not to be spent by who is blocked. */
    async block(counters, span) {
      try {
        return await returns.block(counters, span);
      } finally {
        closeLeases(store.owner, counters);
      }
    },

    /** What was leased before, or meanwhile, may be of what is forgotten. */
    async forget(counters) {
      try {
        const isForgottenHere = await withoutStore.forget(counters);
        const isForgottenThere = await returns.forget(counters);
        return isForgottenHere || isForgottenThere;
      } finally {
        closeLeases(store.owner, counters);
      }
    },

    async close() {
      release();
    },
  };
  const { lease } = failure;
  if (lease === undefined) return decider;
  return createLeaseDecider(decider, lease, { counted, watch, returns, denials });
}
