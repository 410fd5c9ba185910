import type { Limit, Store } from "@headgate/core";
import { memoryStore } from "@headgate/core";
import { heapBytesFor } from "../log/memory-budget.ts";
import type { ReplayPolicy } from "./policies.ts";
import type { Framework, PolicyRun, PolicyRunOptions } from "./policy-run.ts";
import { runInLibrary } from "./policy-run.ts";

interface StartOptions {
  /** Decides behind the adapter of this framework, over HTTP. Default: calls the library directly. */
  readonly framework?: Framework | undefined;
  /** Over HTTP, called with the response time of each request in milliseconds. */
  readonly onResponse?: ((ms: number) => void) | undefined;
  /** The store that counts. Default: a memory store for each policy, with as many subjects as fit into the memory. */
  readonly store?: Store | undefined;
  /** Milliseconds. */
  readonly storeTimeout: number;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
}

/** Starts a run for each policy. Rejects with the errors of a limiter, and if the packages of a framework are missing. */
export async function startRuns(
  policies: readonly ReplayPolicy[],
  { framework, onResponse, store, storeTimeout, clock }: StartOptions,
): Promise<readonly PolicyRun[]> {
  const runs: PolicyRun[] = [];
  try {
    for (const [i, policy] of policies.entries()) {
      const maxKeys = maxKeysFor(policy.limits, policies.length);
      const memory = store === undefined ? memoryStore({ clock, maxKeys }) : undefined;
      const options: PolicyRunOptions = {
        // Policies of one store must not share counters.
        name: `replay-${i + 1}`,
        store: (store ?? memory) as Store,
        storeTimeout,
        evicted: () => memory?.evictions ?? 0,
      };
      if (framework === undefined) runs.push(runInLibrary(policy, options));
      else {
        // Loaded on demand, with the framework.
        const { runOverHttp } = await import("./http/http-run.ts");
        runs.push(await runOverHttp(framework, policy, { ...options, onResponse }));
      }
    }
  } catch (error) {
    await Promise.all(runs.map((run) => run.close()));
    throw error;
  }
  return runs;
}

/** The highest `maxKeys` of a memory store. */
const LARGEST_MAX_KEYS = 2 ** 24;

/** The bytes of a subject in a store, with a reserve of a tenth, and those of each limit. */
const BYTES_PER_SUBJECT = 600;
const BYTES_PER_LIMIT = 80;
const BYTES_PER_SLIDING_LOG = 1_200;

/** The most subjects of a memory store if `stores` stores share the memory. */
export function maxKeysFor(limits: readonly Limit[], stores: number): number {
  let bytes = BYTES_PER_SUBJECT;
  for (const { algorithm } of limits) {
    bytes += algorithm === "slidingLog" ? BYTES_PER_SLIDING_LOG : BYTES_PER_LIMIT;
  }
  return Math.min(LARGEST_MAX_KEYS, Math.floor(heapBytesFor("stores") / bytes / stores));
}
