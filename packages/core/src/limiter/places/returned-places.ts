import { codeOf } from "../../errors.ts";
import { decide } from "../../store/decide.ts";
import type { DecideCall } from "../../store/decide-call.ts";
import { places } from "../../store/places.ts";
import type { Store } from "../../store/store.ts";
import type { SubjectCounter } from "../counters.ts";
import { placesOnly } from "../counters.ts";
import type { HeldPlaces } from "./places.ts";

/**
 * A store that gives back the places which a decision took though nobody waits for it any more, or of which nobody knows whether
 * it took them. The same store where a call takes none.
 */
export function placesReturned(store: Store, taken: HeldPlaces | undefined): Store {
  if (taken === undefined) return store;
  return {
    ...store,
    run(step, call, waiter) {
      const reply = store.run(step, call, waiter);
      // Probes go this way, too.
      if ((step as unknown) !== decide) return reply;
      const giveBack = (): void => returnPlaces(store, call as DecideCall);
      reply.then(
        () => waiter?.isOver && giveBack(),
        (error) => codeOf(error) === "HEADGATE_STORE_UNAVAILABLE" && giveBack(),
      );
      return reply;
    },
  };
}

/** At once, on the way on which the answer came: the store that was late is known to be down. What is not given back lapses. */
function returnPlaces(store: Store, { counters, holder = "" }: DecideCall): void {
  for (const counter of placesOnly(counters as readonly SubjectCounter[])) {
    store.run(places, { counter, holders: [holder], renews: false }).catch(() => {});
  }
}
