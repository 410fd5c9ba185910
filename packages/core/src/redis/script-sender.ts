import { createHash } from "node:crypto";
import type { LuaSource } from "../algorithms/algorithm.ts";
import { formatReceived, HeadgateError } from "../common/errors.ts";
import { readInteger } from "../operations/list-script.ts";
import { composeScript } from "../scripts/compose-script.ts";
import type { PendingCall, Replies, ScriptTransport } from "../store/store.ts";
import { CallQueue } from "./call-queue.ts";
import type { ScriptRunner } from "./script-retry.ts";
import { SendSchedule } from "./send-schedule.ts";
import { isCrossSlot, isServerError, toStoreError } from "./store-error.ts";
import type { Topology } from "./topology.ts";

/**
 * The most batchers for one kind of operation: each shape of calls has one. The oldest is closed, and opened again if it is
 * still used.
 */
const MAX_BATCHERS = 1_000;

/**
 * Takes the keys that a script does not declare from its arguments: their number, with the declared one, and those keys. A script
 * without a shebang may use keys of every hash slot that its server owns:
 * https://redis.io/docs/latest/develop/programmability/lua-api/#script_flags
 *
 * It fails while the hash slot of the declared key is being moved: a command on two keys, one of which does not exist, then does.
 * Otherwise, a client that follows ASK would run the script on the server that the hash slot moves to, which then has all hash
 * slots that move there take part, and an undeclared key that has not moved yet would seem to be absent:
 * https://redis.io/docs/latest/commands/asking/
 */
const TAKE_KEYS = `redis.call("EXISTS", KEYS[1], KEYS[1] .. "?")
local keys, args, count = { KEYS[1] }, {}, ARGV[1] + 0
for i = 2, count do
keys[i] = ARGV[i]
end
for i = count + 1, #ARGV do
args[i - count] = ARGV[i]
end
local KEYS, ARGV = keys, args
`;

/**
 * Errors of a script that does not declare all its keys, which may be the fault of one key, and come before it writes: that key is
 * not declared, is being moved, or no server has its hash slot.
 */
const ERRORS_OF_A_KEY = ["ERR", "NOPERM", "CROSSSLOT", "CLUSTERDOWN", "TRYAGAIN", "MOVED"] as const;

/** Those with which a server or a proxy refuses undeclared keys. */
const REFUSALS: readonly string[] = ["ERR", "NOPERM", "CROSSSLOT"];

const undeclaring = new WeakMap<LuaSource, LuaSource>();

/** The script that declares only its first key, and takes the others from its arguments. */
function withUndeclaredKeys(script: LuaSource): LuaSource {
  const known = undeclaring.get(script);
  if (known !== undefined) return known;
  const source = TAKE_KEYS + script.source;
  const created = { source, sha1: createHash("sha1").update(source).digest("hex") };
  undeclaring.set(script, created);
  return created;
}

/** Collects calls with the same batch key, which are sent together if possible. */
interface Batcher {
  add(call: PendingCall): void;
  /** Sends all waiting calls, so that calls sent by others afterwards arrive after them. */
  flush(): void;
}

/**
 * Creates the function that sends calls, in order for each batch key. `now` is this process's clock, in microseconds since the
 * epoch. `writeClock` formats the time of a custom clock, which replaces the server's.
 */
export function createScriptSender(
  scripts: ScriptRunner,
  topology: Topology,
  now: () => number,
  writeClock?: () => string,
): ScriptTransport["send"] {
  const schedule = new SendSchedule(scripts.inOneWrite);
  /** By the kind of operation. */
  const batchersByKind = new Map<string, Map<object, Batcher>>();
  let kind: string | undefined;
  let batchers = new Map<object, Batcher>();

  /** Calls of another kind that still wait were made earlier, and are sent first. */
  function changeKind(next: string): void {
    for (const batcher of batchers.values()) batcher.flush();
    kind = next;
    batchers = batchersByKind.get(next) ?? new Map<object, Batcher>();
    batchersByKind.set(next, batchers);
  }

  function openBatcher(id: object): Batcher {
    if (batchers.size >= MAX_BATCHERS) closeOldest();
    const batcher = createBatcher(scripts, schedule, topology, now);
    batchers.set(id, batcher);
    return batcher;
  }

  /** Sends its calls now, before those of the batcher that replaces it. */
  function closeOldest(): void {
    for (const [oldest, batcher] of batchers) {
      batcher.flush();
      batchers.delete(oldest);
      return;
    }
  }

  return (call) => {
    const { operation } = call;
    call.keys = operation.keys(call.call);
    call.weight = operation.weight(call.call);
    if (writeClock !== undefined) call.clock = writeClock();
    if (operation.kind !== kind) changeKind(operation.kind);
    const id = operation.batchKey(call.call);
    const batcher = batchers.get(id) ?? openBatcher(id);
    batcher.add(call);
  };
}

function createBatcher(
  scripts: ScriptRunner,
  schedule: SendSchedule,
  topology: Topology,
  now: () => number,
): Batcher {
  /** Microseconds by which the server's clock is ahead of this process's, updated only when a script reports the clock. */
  let clockOffset = 0;
  const serverNow = (): number => now() + clockOffset;
  /** The queues by key. A single server has one; a cluster has one for each key with calls waiting or in flight. */
  const queues = new Map<string, CallQueue>();

  /** Calls that write while they are decided go by key on a cluster: if one of their keys is moved, others may be written. */
  function queueKeyOf({ keys: [key = ""], operation, call }: PendingCall): string {
    if (topology.canMixKeys) return "";
    const sharesScripts = !topology.followsCluster || operation.readsFirst?.(call) === true;
    return sharesScripts ? topology.scriptGroupOf(key) : key;
  }

  function add(call: PendingCall, queueKey = queueKeyOf(call)): void {
    if (topology.followsCluster) sendEarlierCalls(call.keys[0] as string, queueKey);
    const queue = queues.get(queueKey) ?? openQueue(queueKey);
    queue.add(call);
  }

  /** Calls on a key go by its server or alone, and those that wait in the other queue were made earlier. */
  function sendEarlierCalls(key: string, queueKey: string): void {
    if (queueKey === key) queues.get(topology.nodeOf(key))?.flushIfWaiting(key);
    else queues.get(key)?.flush();
  }

  function openQueue(queueKey: string): CallQueue {
    const forget = (): void => {
      if (queues.get(queueKey) === queue) queues.delete(queueKey);
    };
    const queue: CallQueue = new CallQueue(
      sendBatch.bind(undefined, queueKey),
      schedule,
      queueKey === "" ? undefined : forget,
    );
    queues.set(queueKey, queue);
    return queue;
  }

  function sendBatch(
    queueKey: string,
    batch: readonly PendingCall[],
    onEnd: () => void,
    isRepeated = false,
  ): void {
    const [first] = batch as [PendingCall];
    if (batch.every(({ keys }) => keys[0] === first.keys[0])) {
      void sendScript(queueKey, batch, onEnd, isRepeated);
    } else if (queueKeyOf(first) === queueKey) {
      void sendScript(queueKey, batch, onEnd, isRepeated, topology.undeclaredKeyOf);
    } else {
      onEnd();
      // While these calls waited, hash slots moved, or the server was found to have them.
      for (const call of batch) add(call);
    }
  }

  /**
   * Sends calls in one script. With `undeclaredKeyOf`, it declares only the first key. `isRepeated`: the script returned the
   * server's clock, and did nothing, because its window boundaries were for another time.
   */
  async function sendScript(
    queueKey: string,
    batch: readonly PendingCall[],
    onEnd: () => void,
    isRepeated: boolean,
    undeclaredKeyOf?: Topology["undeclaredKeyOf"],
  ): Promise<void> {
    const { operation, call, clock: given } = batch[0] as PendingCall;
    const calls = batch.length === 1 ? [call] : callsOf(batch);
    let reply: unknown;
    let replies: Replies<unknown> | undefined;
    try {
      const times = operation.boundaries?.(call, given, serverNow);
      reply = await run(batch, calls, times, undeclaredKeyOf);
      if (undeclaredKeyOf !== undefined) topology.onUndeclaredKeys(true);
      const clock = times && !isRepeated ? readClockReply(reply) : undefined;
      if (clock === undefined) replies = operation.decode(calls, reply);
      else clockOffset = clock - now();
    } catch (error) {
      onEnd();
      const code = ERRORS_OF_A_KEY.find((name) => isServerError(error, name));
      if (undeclaredKeyOf === undefined || code === undefined) {
        rejectBatch(batch, error);
      } else {
        if (REFUSALS.includes(code)) topology.onUndeclaredKeys(false);
        for (const waiting of withoutAbandoned(batch)) add(waiting, waiting.keys[0]);
      }
      return;
    }
    if (replies === undefined) {
      const waiting = withoutAbandoned(batch);
      if (waiting.length > 0) sendBatch(queueKey, waiting, onEnd, true);
      else onEnd();
      return;
    }
    onEnd();
    settleCalls(batch, replies, reply);
  }

  function run(
    batch: readonly PendingCall[],
    calls: readonly never[],
    times: string | undefined,
    undeclaredKeyOf?: Topology["undeclaredKeyOf"],
  ): Promise<unknown> {
    const { operation, clock, keys: own } = batch[0] as PendingCall;
    let { script, args } = operation.encode(calls, composeScript, clock, times);
    let keys = batch.length === 1 ? own : keysOf(batch);
    const node = topology.followsCluster ? topology.nodeOf(keys[0] as string) : "";
    if (undeclaredKeyOf !== undefined) {
      const [first, ...others] = keys as [string, ...string[]];
      script = withUndeclaredKeys(script);
      args = [String(keys.length), ...others.map(undeclaredKeyOf), ...args];
      keys = [first];
    }
    return scripts.run({ script, keys, args, node });
  }

  /**
   * Sends calls that were rejected because of each other's hash slots again, each in its own script, and rejects the others.
   */
  function rejectBatch(batch: readonly PendingCall[], error: unknown): void {
    const keys = keysOf(batch);
    if (isServerError(error, "CROSSSLOT")) topology.onCrossSlot(keys);
    const canSplit = !areInOneHashSlot(keys) || new Set(batch.map(queueKeyOf)).size > 1;
    const reason = toStoreError(error, topology.followsCluster);
    for (const call of batch) {
      if (isCrossSlot(error) && canSplit && areInOneHashSlot(call.keys)) add(call);
      else call.reject(reason);
    }
  }

  function areInOneHashSlot(keys: readonly string[]): boolean {
    const slot = topology.hashSlotOf(keys[0] as string);
    return keys.every((key) => topology.hashSlotOf(key) === slot);
  }

  return {
    add,
    flush() {
      for (const queue of queues.values()) queue.flush();
    },
  };
}

/** The arguments of the calls, as their operation takes them. */
function callsOf(batch: readonly PendingCall[]): readonly never[] {
  const calls: never[] = [];
  for (let i = 0; i < batch.length; i += 1) calls.push((batch[i] as PendingCall).call);
  return calls;
}

/** The calls for whose replies something waits, and those that are sent in any case. */
function withoutAbandoned(batch: readonly PendingCall[]): readonly PendingCall[] {
  return batch.filter(({ isAbandoned, operation }) => !isAbandoned || operation.isFireAndForget);
}

/** The keys of a batch, in order. */
function keysOf(batch: readonly PendingCall[]): readonly string[] {
  const keys: string[] = [];
  for (const call of batch) for (const key of call.keys) keys.push(key);
  return keys;
}

/**
 * Resolves each call with its part of the script's decoded reply. Rejects a call whose part is an error, or with
 * `HEADGATE_BAD_REPLY` if its part is missing or invalid.
 */
function settleCalls(
  batch: readonly PendingCall[],
  replies: Replies<unknown>,
  reply: unknown,
): void {
  for (let i = 0; i < batch.length; i += 1) {
    const call = batch[i] as PendingCall;
    const own = replies[i];
    if (own === undefined) call.reject(badReply(call.operation.name, reply));
    else if (own instanceof Error) call.reject(own);
    else call.resolve(own);
  }
}

/** The message does not show an object of the client, which may hold a password. */
function badReply(name: string, reply: unknown): HeadgateError {
  return new HeadgateError(
    "HEADGATE_BAD_REPLY",
    `the script ${name} returned ${formatReceived(reply)}`,
  );
}

/** The clock that a script returns instead of replies, which are never a single number of at least 0. */
function readClockReply(reply: unknown): number | undefined {
  if (typeof reply === "object") return undefined;
  const clock = readInteger(reply);
  return clock >= 0 ? clock : undefined;
}
