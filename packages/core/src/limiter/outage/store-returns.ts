import type { Counter } from "../../store/counter.ts";
import { forget } from "../../store/forget.ts";
import type { Receipt } from "../../store/refund.ts";
import { refund } from "../../store/refund.ts";
import type { Remote, Step, Store } from "../../store/store.ts";
import type { DenyCache } from "../deny-cache.ts";
import { rejectWrongType } from "../read-reply.ts";
import { bySlot, bySlotAfter } from "../slots/by-slot.ts";
import type { StoreReturns, StoreWatch } from "./outage.ts";

/** Something to do to counters, as one call or, where they are in several slots, as a call for the counters in each. */
interface Return<Call> {
  readonly step: Step<Call>;
  readonly counters: readonly Counter[];
  callOf(counters: readonly Counter[]): Call;
}

/** Whoever is given room is asked for anew: what was known to be denied is not known any more, from before the call until after it. */
export function createStoreReturns(
  store: Store,
  remote: Remote,
  watch: StoreWatch,
  denials: DenyCache,
): StoreReturns {
  /** Does each, once for each slot; true if any of the replies says 1. */
  async function runInSlots<Call>(returns: readonly Return<Call>[]): Promise<boolean> {
    const counters = returns.flatMap((one) => one.counters);
    denials.forget(counters, store.now());
    try {
      const replies = returns.flatMap((one) =>
        bySlot(one.counters, remote).map((together) => runTogether({ ...one, counters: together })),
      );
      return (await Promise.all(replies)).includes(1);
    } finally {
      denials.forget(counters, store.now());
    }
  }

  /** Counters that are in one slot, as far as is known: if they are not, each slot is asked in the time of the one call. */
  async function runTogether<Call>({ step, counters, callOf }: Return<Call>): Promise<number> {
    const inParts: Store = {
      ...store,
      run: (asked, call, waiter) =>
        store.run(asked, call, waiter).catch(async (error: unknown) => {
          // Probes go this way, too.
          const isOurs = (asked as unknown) === step;
          const slots = isOurs ? bySlotAfter(error, counters, remote) : undefined;
          if (slots === undefined) throw error;
          const replies = slots.map((some) => store.run(step, callOf(some), waiter));
          return join(await Promise.all(replies));
        }),
    };
    const { key } = counters[0] as Counter;
    const reply = await watch.run(inParts, step, callOf(counters), key);
    rejectWrongType(reply, counters);
    return reply[1] as number;
  }

  return {
    refund: (receipts) =>
      runInSlots(
        receipts.map((receipt) => ({
          step: refund,
          counters: receipt.counters,
          callOf: (counters) => partOf(receipt, counters),
        })),
      ),
    forget: (counters) => runInSlots([{ step: forget, counters, callOf: (some) => some }]),
  };
}

/** What a receipt says of some of its counters. */
function partOf(receipt: Receipt, counters: readonly Counter[]): Receipt {
  if (counters.length === receipt.counters.length) return receipt;
  const { generations } = receipt;
  const own = counters.map((one) => generations[receipt.counters.indexOf(one)] as number);
  return { ...receipt, counters, generations: own };
}

/** One reply of several: -1 when one of them was refused its key, 1 when one of them did something. */
function join(replies: readonly (readonly number[])[]): readonly number[] {
  const numbers = replies.map((reply) => reply[1] as number);
  return [0, numbers.includes(-1) ? -1 : Math.max(...numbers)];
}
