import type { Charged } from "../charged.ts";
import { NOTHING_CHARGED, nothingCharged } from "../charged.ts";
import type { Cost, CostByName } from "../cost.ts";
import type { Decision, DecisionSource } from "../decision.ts";
import { block } from "../store/block-by-hand.ts";
import { charge } from "../store/charge.ts";
import type { Counter } from "../store/counter.ts";
import { areByName } from "../store/counter.ts";
import { stepFor } from "../store/decide.ts";
import type { DecideCall, DecideMode } from "../store/decide-call.ts";
import { isCharging, isSettled } from "../store/decide-call.ts";
import { forget } from "../store/forget.ts";
import type { Judgement } from "../store/judge.ts";
import { judge, judgementsOf } from "../store/judge.ts";
import type { Receipt } from "../store/refund.ts";
import { receiptBut, refund } from "../store/refund.ts";
import type { Store } from "../store/store.ts";
import { askedOf, largestCost, readCharged } from "./costs.ts";
import { CountedDecision, isCharged, outcomeOn, takeReceipts } from "./counted-decision.ts";
import type { CountedPolicy } from "./counted-policy.ts";
import { limitsOfUnits } from "./counted-policy.ts";
import type { SubjectCounter } from "./counters.ts";
import type { Decider } from "./decider.ts";
import { keepPlacesHere, takePlaces } from "./places/keep-places.ts";
import type { PlaceKeeping, TakenPlaces } from "./places/taken-places.ts";
import { listReceipt, present, readReply, rejectWrongType } from "./read-reply.ts";
import type { Settler } from "./settle-by-name.ts";
import { settleByName, settlementOf } from "./settle-by-name.ts";

const NOTHING: readonly Receipt[] = [];

/** Decides in this process, which always answers. */
export function createMemoryDecider(counted: CountedPolicy): Decider {
  const { store } = counted;
  const keeping = counted.hasPlaces ? keepPlacesHere(store, counted.reported) : undefined;
  return {
    watch: undefined,

    decide: (counters, cost, mode) =>
      decideOn(store, counted, counters, cost, mode, "store", keeping),

    async giveBack(decision) {
      return giveBackOn(store, takeReceipts(decision, counted));
    },

    charge: (counters, cost) => chargeOn(store, counters, cost),

    async settle(decision, units) {
      const receipts = takeReceipts(decision, counted);
      return settleOn(store, counted, receipts, units, decision.shadow, (kept) =>
        judgeOn(store, kept),
      );
    },

    async block(counters, span) {
      const reply = await store.run(block, { counters, span });
      rejectWrongType(reply, counters);
      return reply[1] === 1;
    },

    forget: (counters) => forgetOn(store, counters),

    async close() {},
  };
}

interface SubjectCall extends DecideCall {
  readonly counters: readonly SubjectCounter[];
  /** The counters of a cost by name, those that it leaves out too. */
  readonly named: readonly SubjectCounter[] | undefined;
  /** Those that it takes. */
  readonly places: TakenPlaces | undefined;
}

/**
 * Asks a store of this process; at once where it can. What a cost by name leaves out is not asked. `keeping` keeps the places that
 * are taken.
 */
export function decideOn(
  store: Store,
  counted: CountedPolicy,
  counters: readonly SubjectCounter[],
  cost: number,
  mode: DecideMode,
  source: DecisionSource,
  keeping?: PlaceKeeping,
): Promise<Decision> {
  const named = areByName(counters) ? counters : undefined;
  const asked = named === undefined ? counters : askedOf(named);
  const places = isCharging(mode) && keeping !== undefined ? takePlaces(keeping, asked) : undefined;
  const holder = places?.holder;
  const call = { cost, mode, counters: asked, named, places, holder } as const;
  if (store.runNow === undefined) return decideLater(store, counted, call, source);
  const reply = store.runNow(stepFor(mode), call);
  return Promise.resolve(readDecision(counted, call, source, reply));
}

async function decideLater(
  store: Store,
  counted: CountedPolicy,
  call: SubjectCall,
  source: DecisionSource,
): Promise<Decision> {
  return readDecision(counted, call, source, await store.run(stepFor(call.mode), call));
}

function readDecision(
  counted: CountedPolicy,
  { counters, named, cost, mode, places }: SubjectCall,
  source: DecisionSource,
  reply: readonly number[],
): Decision {
  const { allowed, blocked, receipt, states } = readReply(counted, counters, cost, reply);
  const taken = allowed ? places : undefined;
  taken?.hold();
  const outcome = {
    allowed,
    blocked,
    limits: present(states),
    cost,
    source,
    receipts: allowed && isSettled(mode) ? listReceipt(receipt) : NOTHING,
    places: taken,
  };
  return new CountedDecision(counted, outcomeOn(named ?? counters, outcome));
}

/** Gives back on a store of this process; true if something was. */
export async function giveBackOn(store: Store, receipts: readonly Receipt[]): Promise<boolean> {
  let isGiven = false;
  for (const receipt of receipts.filter(isCharged)) {
    const reply = await store.run(refund, receipt);
    rejectWrongType(reply, receipt.counters);
    isGiven ||= reply[1] === 1;
  }
  return isGiven;
}

/** Charges on a store of this process. `beside`: units that the same request was charged before. */
export async function chargeOn(
  store: Store,
  counters: readonly Counter[],
  cost: number,
  beside = 0,
): Promise<Charged<Cost>> {
  const reply = await store.run(charge, { cost, beside, counters });
  rejectWrongType(reply, counters);
  return readCharged(counters, cost, reply);
}

/** Counts on a store of this process what is kept of charges. */
async function judgeOn(store: Store, judgements: readonly Judgement[]): Promise<boolean> {
  for (const judgement of judgements) {
    const reply = await store.run(judge, judgement);
    rejectWrongType(reply, judgement.counters);
  }
  return true;
}

/** Units that are only counted never set a block. */
const judgeNobody = async (): Promise<boolean> => true;

/** Settles on a store of this process what receipts say was charged. In shadow, and by default, what is kept blocks nobody. */
export async function settleOn(
  store: Store,
  counted: CountedPolicy,
  receipts: readonly Receipt[],
  units: Cost,
  shadow: boolean,
  keep: Settler["keep"] = judgeNobody,
): Promise<Charged<Cost>> {
  if (typeof units !== "number") {
    return settleByNameOn(store, counted, receipts, units, shadow, keep);
  }
  const [receipt] = receipts;
  if (receipt === undefined) return NOTHING_CHARGED;
  const { cost, counters } = receipt;
  const more = units > cost ? await chargeOn(store, counters, units - cost, cost) : NOTHING_CHARGED;
  if (units < cost) await giveBackOn(store, [receiptBut(receipt, units)]);
  await keep(judgementsOf(receipts, units, !shadow));
  return { ...more, counted: Math.min(cost, units) + (more.counted as number) };
}

async function settleByNameOn(
  store: Store,
  counted: CountedPolicy,
  receipts: readonly Receipt[],
  units: CostByName,
  shadow: boolean,
  keep: Settler["keep"],
): Promise<Charged<CostByName>> {
  if (receipts.length === 0) return nothingCharged(limitsOfUnits(counted));
  return settleByName(settlementOf(receipts, units, !shadow), {
    charge: (counters) => chargeOn(store, counters, largestCost(counters)),
    async giveBack(less) {
      await giveBackOn(store, less);
      return true;
    },
    keep,
  });
}

/** Forgets on a store of this process; true if there was anything. */
export async function forgetOn(store: Store, counters: readonly Counter[]): Promise<boolean> {
  const reply = await store.run(forget, counters);
  return reply[1] === 1;
}
