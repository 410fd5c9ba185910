import { shareByClient } from "../common/client-state.ts";
import type { LimiterLabels } from "../common/publish.ts";
import type { Counter } from "../operations/counter.ts";
import type { SlotsCall } from "../operations/slots.ts";
import { MAX_HOLDERS, slotsOperation } from "../operations/slots.ts";
import type { SubjectCounter } from "../policy/counters.ts";
import { slotCountersOf } from "../policy/counters.ts";
import { newHolder } from "../scripts/digits.ts";
import type { CountingStore } from "../store/store.ts";
import type { SlotKeeper } from "./held-slots.ts";
import { HeldSlots, Releases } from "./held-slots.ts";
import { Renewals } from "./renewals.ts";

/** Sends a call about the slots of a counter to the store. Rejects with the store's errors. */
type RunSlotsCall = (call: SlotsCall, counterKey: string) => Promise<readonly boolean[]>;

/** The renewals of the slots held in a store. */
const renewalsOf = shareByClient("renewals", () => new Renewals());

/**
 * Creates the keeper of the slots that a limiter takes in a store. `owner` is the owner of the counters, by which waiting calls
 * find the releases.
 */
export function createSlotKeeper(
  store: CountingStore,
  run: RunSlotsCall,
  labels: LimiterLabels,
  owner: object = store.owner,
): SlotKeeper {
  async function renewOrRelease(
    counter: Counter,
    holders: readonly string[],
    renews: boolean,
  ): Promise<readonly boolean[]> {
    const calls: SlotsCall[] = [];
    for (let at = 0; at < holders.length; at += MAX_HOLDERS) {
      calls.push({ counters: [counter], holders: holders.slice(at, at + MAX_HOLDERS), renews });
    }
    return (await Promise.all(calls.map((call) => run(call, counter.key)))).flat();
  }

  return {
    store: { now: () => store.now(), renewOrRelease },
    renewals: renewalsOf(store),
    releases: releasesOf(owner),
    labels,
  };
}

/** Creates the keeper for a store in this process. */
export function createLocalSlotKeeper(
  store: CountingStore,
  labels: LimiterLabels,
  owner: object = store.owner,
): SlotKeeper {
  return createSlotKeeper(store, (call) => store.run(slotsOperation, call), labels, owner);
}

/** Prepares the slots that a request needs; undefined if none of its counters is a concurrency counter. */
export function prepareSlots(
  keeper: SlotKeeper,
  counters: readonly SubjectCounter[],
): HeldSlots | undefined {
  const slotCounters = slotCountersOf(counters);
  return slotCounters.length === 0 ? undefined : new HeldSlots(keeper, slotCounters, newHolder());
}

/** The releases of slots in this process, by the owner of their counters. */
export const releasesOf: (owner: object) => Releases = shareByClient(
  "releases",
  () => new Releases(),
);
