import type { LuaSource } from "../algorithms/algorithm.ts";
import { formatReceived, HeadgateError } from "../errors.ts";
import { rejectUnknownOptions } from "../options.ts";
import type { Clock } from "../store/clock.ts";
import { readClock, requireClock } from "../store/clock.ts";
import type { Step, Store } from "../store/store.ts";
import type { RedisClient } from "./client-port.ts";
import { fromClient } from "./client-port.ts";
import { listenForErrors } from "./error-listener.ts";
import type { ScriptRunner } from "./script-runner.ts";
import { createScriptRunner } from "./script-runner.ts";
import { toStoreError } from "./store-error.ts";
import { topologyOf } from "./topology.ts";

export interface RedisStoreOptions {
  /** What every key begins with: 1 to 32 letters, digits, dots, dashes, underscores. Default `"hg"`. */
  readonly prefix?: string | undefined;
  /** For tests and replays, in place of the server's clock. Keys then live for at least 24 hours. */
  readonly clock?: Clock | undefined;
}

/**
 * Keeps counts in Redis or Valkey, through a client of yours: ioredis, iovalkey or node-redis. One EVALSHA a call, on the
 * server's clock; every key expires. The client stays yours: it is neither connected nor closed here.
 *
 * Throws `HEADGATE_UNKNOWN_CLIENT`, `HEADGATE_INVALID_OPTION`.
 */
export function redisStore(client: RedisClient, options: RedisStoreOptions = {}): Store {
  rejectUnknownOptions("redisStore", options, ["prefix", "clock"]);
  const { prefix = "hg", clock } = options;
  if (typeof prefix !== "string" || !/^[\w.-]{1,32}$/.test(prefix)) {
    throw new HeadgateError(
      "HEADGATE_INVALID_OPTION",
      `redisStore: prefix must be 1 to 32 letters, digits, dots, dashes, underscores, got ${formatReceived(prefix)}`,
    );
  }
  requireClock("redisStore", clock);
  const port = fromClient(client);
  const errors = listenForErrors(client);
  const topology = topologyOf(client);
  const runners = new Map<LuaSource, ScriptRunner>();

  function runnerOf(script: LuaSource): ScriptRunner {
    const known = runners.get(script);
    if (known !== undefined) return known;
    const runner = createScriptRunner(port, script);
    runners.set(script, runner);
    return runner;
  }

  return {
    owner: client,
    prefix,
    remote: { ...topology, lastError: errors.recent },
    now: clock === undefined ? monotonicClock : () => readClock(clock),
    async run<Call>(step: Step<Call>, call: Call) {
      const keys = step.keys(call);
      const args = [
        clock === undefined ? "" : String(readClock(clock)),
        String(Math.floor(Math.random() * 2 ** 48)),
        "1",
        ...step.parameters(call).map(String),
      ];
      const node = topology.nodeOf(keys[0] as string);
      const reply = await runOf(step.script, node, keys, args);
      return readReply(reply, step, call);
    },
  };

  async function runOf(
    script: LuaSource,
    node: string,
    keys: readonly string[],
    args: readonly string[],
  ): Promise<unknown> {
    try {
      return await runnerOf(script).run(node, keys, args);
    } catch (error) {
      throw toStoreError(error);
    }
  }
}

function monotonicClock(): number {
  return performance.now() * 1_000;
}

/** The integers of the one call that was made; a client may be set to hand numbers over as strings. */
function readReply<Call>(reply: unknown, step: Step<Call>, call: Call): readonly number[] {
  const numbers = Array.isArray(reply) ? reply.map(Number) : [];
  if (numbers.length !== 1 + step.replySize(call) || !numbers.every(Number.isSafeInteger)) {
    throw new HeadgateError(
      "HEADGATE_BAD_REPLY",
      `the script ${step.name} returned ${formatReceived(reply)}`,
    );
  }
  return numbers;
}
