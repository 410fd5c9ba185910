import { readInteger } from "../store/list-script.ts";
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

/** `now` is this process's clock, in microseconds since the epoch. */
export function createScriptQueues(
  runner: Pick<ScriptRunner, "run">,
  { slotOf, scriptOf, nodeOf, followsCluster, noteRefused }: Topology,
  now: () => number,
): ScriptQueues {
  /** Microseconds by which the server's clock is ahead of this process's, as far as it matters. */
  let ahead = 0;
  const guess = (): number => now() + ahead;
  /** The only queue for a single server; for a cluster, those in which something waits or is in flight. */
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
    if (placeOf(calls[0] as PendingCall) !== place) {
      // The server turned out to have slots while these waited.
      for (const call of calls) add(call);
      return;
    }
    try {
      const times = timesFor(calls);
      const reply = await run(calls, times);
      const clock = times ? readClockAlone(reply) : undefined;
      if (clock === undefined) settleCalls(calls, reply);
      else await askAgain(calls, clock);
    } catch (error) {
      failTogether(calls, error);
    }
  }

  /** Asks once more, with times around the server's clock. Nothing was done, so calls that nobody waits for any more are left out. */
  async function askAgain(calls: readonly PendingCall[], clock: number): Promise<void> {
    ahead = clock - now();
    const waiting = calls.filter(({ waiter }) => !waiter?.isOver);
    if (waiting.length > 0) settleCalls(waiting, await run(waiting, timesFor(waiting)));
  }

  function timesFor(calls: readonly PendingCall[]): string | undefined {
    const { step, call, clock } = calls[0] as PendingCall;
    return step.times?.(call, clock, guess);
  }

  function run(calls: readonly PendingCall[], times: string | undefined): Promise<unknown> {
    const { step, clock } = calls[0] as PendingCall;
    const { script, args } = step.prepare(
      calls.map(({ call }) => call),
      clock,
      times,
    );
    const keys = joinKeys(calls);
    return runner.run(script, nodeOf(keys[0] as string), keys, args);
  }

  /** Calls that were refused because of each other's slots are made again, each in its own script. */
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

/** A clock instead of replies, which never is such a number. */
function readClockAlone(reply: unknown): number | undefined {
  if (typeof reply === "object") return undefined;
  const clock = readInteger(reply);
  return clock >= 0 ? clock : undefined;
}
