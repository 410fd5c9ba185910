import { forget } from "../../store/forget.ts";
import type { Receipt } from "../../store/refund.ts";
import { refund } from "../../store/refund.ts";
import type { Remote, Step, Store } from "../../store/store.ts";
import type { Unit } from "../../store/unit.ts";
import type { DenyCache } from "../deny-cache.ts";
import { rejectForeign } from "../read-reply.ts";
import { bySlot, bySlotAfter } from "../slots/by-slot.ts";
import type { StoreReturns, StoreWatch } from "./outage.ts";

/** Something to do to units, as one call or, where they are in several slots, as a call for the units in each. */
interface Return<Call> {
  readonly step: Step<Call>;
  readonly units: readonly Unit[];
  callOf(units: readonly Unit[]): Call;
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
    const units = returns.flatMap((one) => one.units);
    denials.forget(units, store.now());
    try {
      const replies = returns.flatMap((one) =>
        bySlot(one.units, remote).map((together) => runTogether({ ...one, units: together })),
      );
      return (await Promise.all(replies)).includes(1);
    } finally {
      denials.forget(units, store.now());
    }
  }

  /** Units that are in one slot, as far as is known: if they are not, each slot is asked in the time of the one call. */
  async function runTogether<Call>({ step, units, callOf }: Return<Call>): Promise<number> {
    const inParts: Store = {
      ...store,
      run: (asked, call, waiter) =>
        store.run(asked, call, waiter).catch(async (error: unknown) => {
          // Probes go this way, too.
          const isOurs = (asked as unknown) === step;
          const slots = isOurs ? bySlotAfter(error, units, remote) : undefined;
          if (slots === undefined) throw error;
          const replies = slots.map((some) => store.run(step, callOf(some), waiter));
          return join(await Promise.all(replies));
        }),
    };
    const { key } = units[0] as Unit;
    const reply = await watch.run(inParts, step, callOf(units), key);
    rejectForeign(reply, units);
    return reply[1] as number;
  }

  return {
    refund: (receipts) =>
      runInSlots(
        receipts.map((receipt) => ({
          step: refund,
          units: receipt.units,
          callOf: (units) => partOf(receipt, units),
        })),
      ),
    forget: (units) => runInSlots([{ step: forget, units, callOf: (some) => some }]),
  };
}

/** What a receipt says of some of its units. */
function partOf(receipt: Receipt, units: readonly Unit[]): Receipt {
  if (units.length === receipt.units.length) return receipt;
  const births = units.map((unit) => receipt.births[receipt.units.indexOf(unit)] as number);
  return { ...receipt, units, births };
}

/** One reply of several: -1 when one of them was refused its key, 1 when one of them did something. */
function join(replies: readonly (readonly number[])[]): readonly number[] {
  const told = replies.map((reply) => reply[1] as number);
  return [0, told.includes(-1) ? -1 : Math.max(...told)];
}
