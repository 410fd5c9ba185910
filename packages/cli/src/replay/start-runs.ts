import type { MemoryStore } from "@headgate/core";
import type { CommandContext } from "../command/cli.ts";
import type { ConnectionOptions } from "../connect/connection.ts";
import type { Framework } from "./http/frameworks.ts";
import { runOverHttp } from "./http/http-run.ts";
import type { NamedPolicy } from "./policies.ts";
import type { PolicyRun } from "./policy-run.ts";
import { runInLibrary, runInMemory } from "./policy-run.ts";
import type { ReplayRedis } from "./replay-redis.ts";
import { openReplayRedis } from "./replay-redis.ts";
import { createStores } from "./replay-stores.ts";

export interface StartOptions {
  /** Decides behind the adapter of this framework, over HTTP. Default: calls the library directly. */
  readonly http?: Framework | undefined;
  /** Counts in Redis. Default: in this process. */
  readonly redis?: ConnectionOptions | undefined;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  /** Over HTTP, called with the response time of each request in milliseconds. */
  readonly onResponse?: ((ms: number) => void) | undefined;
  readonly warn: (message: string) => void;
  readonly context: CommandContext;
}

/** Started runs of several policies. */
export interface StartedRuns {
  /** One for each policy, in the same order. */
  readonly runs: readonly PolicyRun[];
  /** Ends all runs; in Redis, deletes their keys, or warns that they remain. */
  close(): Promise<void>;
}

/** A store in this process never takes this long. */
const STORE_TIMEOUT_MS = 5_000;

/** Starts a run for each policy. Rejects with a `CommandError`. */
export async function startRuns(
  policies: readonly NamedPolicy[],
  options: StartOptions,
): Promise<StartedRuns> {
  const redis = options.redis && (await openReplayRedis(options.redis, options));
  const start = redis ? startInRedis(redis, options) : startInMemory(policies, options);
  const runs: PolicyRun[] = [];
  const close = async (): Promise<void> => {
    await Promise.all(runs.map((run) => run.close()));
    await redis?.close();
  };
  try {
    for (const [i, policy] of policies.entries()) runs.push(await start(policy, i));
  } catch (error) {
    await close();
    throw error;
  }
  return { runs, close };
}

/** Starts the run of one policy. */
type StartRun = (policy: NamedPolicy, i: number) => PolicyRun | Promise<PolicyRun>;

function startInMemory(
  policies: readonly NamedPolicy[],
  { http, clock, onResponse }: StartOptions,
): StartRun {
  const stores = createStores(policies, clock);
  return (policy, i) => {
    const store = stores[i] as MemoryStore;
    if (http === undefined) return runInMemory(policy, store);
    const evicted = (): number => store.evictions;
    const counting = { name: limiterNameOf(i), store, storeTimeout: STORE_TIMEOUT_MS, evicted };
    return runOverHttp(http, policy, { ...counting, onResponse });
  };
}

function startInRedis(
  { store, timeoutMs }: ReplayRedis,
  { http, onResponse }: StartOptions,
): StartRun {
  return (policy, i) => {
    const counting = { name: limiterNameOf(i), store, storeTimeout: timeoutMs, evicted: () => 0 };
    return http === undefined
      ? runInLibrary(policy, counting)
      : runOverHttp(http, policy, { ...counting, onResponse });
  };
}

/** The name of the limiter of a policy. It is unique, because policies of one store must not share counters. */
function limiterNameOf(i: number): string {
  return `replay-${i + 1}`;
}
