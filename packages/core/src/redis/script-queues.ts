import type { Step } from "../store/store.ts";
import type { PendingCall } from "./call-batch.ts";
import { joinArguments, joinKeys, settleCalls } from "./call-batch.ts";
import { CallQueue } from "./call-queue.ts";
import type { ClientPort } from "./client-port.ts";
import { createScriptRunner } from "./script-runner.ts";
import { toStoreError } from "./store-error.ts";
import type { Topology } from "./topology.ts";

/** The calls of one step, which go together in one script where they can. */
export interface ScriptQueues {
  add(call: PendingCall): void;
  /** Sends all that waits, so that what is sent elsewhere after this comes after it. */
  hasten(): void;
}

export function createScriptQueues(
  port: ClientPort,
  { scriptOf, nodeOf }: Topology,
  step: Step<never>,
): ScriptQueues {
  const runner = createScriptRunner(port, step.script);
  /** The one of a server; of a cluster's, those in which something waits or is under way. */
  const queues = new Map<string, CallQueue>();

  function queueOf(place: string): CallQueue {
    const known = queues.get(place);
    if (known !== undefined) return known;
    const queue: CallQueue = new CallQueue(sendTogether, () => {
      if (place !== "" && queues.get(place) === queue) queues.delete(place);
    });
    queues.set(place, queue);
    return queue;
  }

  async function sendTogether(calls: readonly PendingCall[]): Promise<void> {
    const keys = joinKeys(calls);
    try {
      const reply = await runner.run(nodeOf(keys[0] as string), keys, joinArguments(calls));
      settleCalls(step.name, calls, reply);
    } catch (error) {
      const reason = toStoreError(error);
      for (const call of calls) call.reject(reason);
    }
  }

  return {
    add: (call) => queueOf(scriptOf(call.keys[0] as string)).add(call),
    hasten() {
      for (const queue of queues.values()) queue.hasten();
    },
  };
}
