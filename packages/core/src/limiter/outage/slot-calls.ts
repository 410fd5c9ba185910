import type { Counter } from "../../store/counter.ts";
import type { Remote, Step, Store } from "../../store/store.ts";
import { rejectWrongType } from "../read-reply.ts";
import { bySlotAfter } from "../slots/by-slot.ts";
import type { StoreWatch } from "./outage.ts";

/** Something to do to counters that are in one slot, as far as is known. */
export interface SlotCall<Call> {
  readonly step: Step<Call>;
  readonly counters: readonly Counter[];
  callOf(counters: readonly Counter[]): Call;
}

/**
 * Makes such a call: if the counters turn out to be in several slots, each slot is asked in the time of the one call. Resolves
 * with the reply, whose number is the largest of several. Rejects as the store does.
 */
export async function runTogether<Call>(
  store: Store,
  remote: Remote,
  watch: StoreWatch,
  { step, counters, callOf }: SlotCall<Call>,
): Promise<readonly number[]> {
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
  return reply;
}

/** One reply of several: -1 when one of them was refused its key, else the largest number. */
function join(replies: readonly (readonly number[])[]): readonly number[] {
  const numbers = replies.map((reply) => reply[1] as number);
  return [0, numbers.includes(-1) ? -1 : Math.max(...numbers)];
}
