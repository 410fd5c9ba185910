import type { PendingCall } from "./call-batch.ts";
import { joinKeys, settleCalls } from "./call-batch.ts";
import { CallQueue } from "./call-queue.ts";
import type { ScriptRunner } from "./script-runner.ts";
import { isCrossSlot, isServerError, toStoreError } from "./store-error.ts";
import type { Topology } from "./topology.ts";

/** The calls of one line, which go together where they can. */
export interface ScriptQueues {
  add(call: PendingCall): void;
  /** Sends all that waits, so that what is sent elsewhere after this comes after it. */
  hasten(): void;
}

export function createScriptQueues(
  runner: ScriptRunner,
  { slotOf, scriptOf, nodeOf, followsCluster, noteRefused }: Topology,
): ScriptQueues {
  /** The one of a server; of a cluster's, those in which something waits or is under way. */
  const queues = new Map<string, CallQueue>();

  function queueOf(place: string): CallQueue {
    const known = queues.get(place);
    if (known !== undefined) return known;
    const send = (calls: readonly PendingCall[]): Promise<void> => sendTogether(place, calls);
    const queue: CallQueue = new CallQueue(send, () => {
      if (place !== "" && queues.get(place) === queue) queues.delete(place);
    });
    queues.set(place, queue);
    return queue;
  }

  function placeOf({ keys }: PendingCall): string {
    return scriptOf(keys[0] as string);
  }

  function add(call: PendingCall): void {
    queueOf(placeOf(call)).add(call);
  }

  async function sendTogether(place: string, calls: readonly PendingCall[]): Promise<void> {
    const keys = joinKeys(calls);
    const first = keys[0] as string;
    if (scriptOf(first) !== place) {
      // The server was found to have slots while these waited.
      for (const call of calls) add(call);
      return;
    }
    try {
      const { step, clock } = calls[0] as PendingCall;
      const { script, args } = step.prepare(
        calls.map(({ call }) => call),
        clock,
      );
      settleCalls(calls, await runner.run(script, nodeOf(first), keys, args));
    } catch (error) {
      failTogether(calls, error);
    }
  }

  /** Calls that were refused because of each other's slots are made again, in scripts of their own now. */
  function failTogether(calls: readonly PendingCall[], error: unknown): void {
    const keys = joinKeys(calls);
    if (isServerError(error, "CROSSSLOT")) noteRefused(keys);
    const goApart = !areInOneSlot(keys) || new Set(calls.map(placeOf)).size > 1;
    const reason = toStoreError(error, followsCluster);
    for (const call of calls) {
      if (isCrossSlot(error) && goApart && areInOneSlot(call.keys)) add(call);
      else call.reject(reason);
    }
  }

  function areInOneSlot(keys: readonly string[]): boolean {
    const slot = slotOf(keys[0] as string);
    return keys.every((key) => slotOf(key) === slot);
  }

  return {
    add,
    hasten() {
      for (const queue of queues.values()) queue.hasten();
    },
  };
}
