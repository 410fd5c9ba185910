import type { Step } from "../store/store.ts";
import type { PendingCall } from "./call-batch.ts";
import { joinArguments, joinKeys, settleCalls } from "./call-batch.ts";
import { CallQueue } from "./call-queue.ts";
import type { ClientPort } from "./client-port.ts";
import type { ScriptRunner } from "./script-runner.ts";
import { createScriptRunner } from "./script-runner.ts";
import { isServerError, toStoreError } from "./store-error.ts";
import type { Topology } from "./topology.ts";

/** The calls of one step, which go together in one script where they can: in one slot of a cluster. */
export interface ScriptQueues {
  add(call: PendingCall): void;
}

export function createScriptQueues(
  port: ClientPort,
  { slotOf, nodeOf }: Topology,
  step: Step<never>,
): ScriptQueues {
  const runner = createScriptRunner(port, step.script);
  /** By slot; a slot to which nothing is under way has none. */
  const queues = new Map<number, CallQueue>();

  function queueOf(slot: number): CallQueue {
    const known = queues.get(slot);
    if (known !== undefined) return known;
    const queue = new CallQueue(sendTogether, () => queues.delete(slot));
    queues.set(slot, queue);
    return queue;
  }

  function run(calls: readonly PendingCall[], how: ScriptRunner["run"]): Promise<unknown> {
    const keys = joinKeys(calls);
    return how(nodeOf(keys[0] as string), keys, joinArguments(calls));
  }

  async function sendTogether(calls: readonly PendingCall[]): Promise<void> {
    try {
      settleCalls(step.name, calls, await run(calls, runner.run));
    } catch (error) {
      // Nothing was done. While a slot is moved, one subject may be on one server and another on the next.
      if (isServerError(error, "TRYAGAIN")) await Promise.all(calls.map(sendAlone));
      else rejectAll(calls, error);
    }
  }

  async function sendAlone(call: PendingCall): Promise<void> {
    const calls = [call];
    try {
      settleCalls(step.name, calls, await run(calls, runner.runPatiently));
    } catch (error) {
      rejectAll(calls, error);
    }
  }

  return { add: (call) => queueOf(slotOf(call.keys[0] as string)).add(call) };
}

function rejectAll(calls: readonly PendingCall[], error: unknown): void {
  const reason = toStoreError(error);
  for (const call of calls) call.reject(reason);
}
