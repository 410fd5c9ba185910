import type { Duration, Store } from "@headgate/core";
import {
  invalidValue,
  parseDuration,
  rejectUnknownOptions,
  toMilliseconds,
} from "@headgate/core/internal";
import type { Log } from "../log/log-entry.ts";
import type { ReadLogOptions } from "../log/read-log.ts";
import { noRequestsError, readLog } from "../log/read-log.ts";
import type { ReplayPolicies } from "./policies.ts";
import { readPolicies } from "./policies.ts";
import type { Framework } from "./policy-run.ts";
import { replayEntries } from "./replay-entries.ts";
import type { ReplayResult } from "./result.ts";
import { startRuns } from "./start-runs.ts";

/** Options of `replay`. */
export interface ReplayOptions extends ReadLogOptions {
  /**
   * Makes the store that counts, whose clock is the time of the log in milliseconds since the epoch:
   * `(clock) => redisStore(client, { prefix, clock, registry: false })`. Its keys stay behind. Default: memory.
   */
  readonly createStore?: ((clock: () => number) => Store) | undefined;
  /** How long a decision waits for that store. Default: 5 seconds. */
  readonly storeTimeout?: Duration | undefined;
  /** Decides behind the adapter of this framework, over HTTP, which takes longer. Default: calls the library directly. */
  readonly framework?: Framework | undefined;
  /** Over HTTP, called with the response time of each request in milliseconds. */
  readonly onResponse?: ((ms: number) => void) | undefined;
}

const OPTIONS = [
  ...["fields", "onBytes", "signal"],
  ...["createStore", "storeTimeout", "framework", "onResponse"],
];

/** The frameworks whose adapters a replay can use. */
export const FRAMEWORKS: readonly Framework[] = ["fastify", "express"];

/**
 * Replays a log under one or several policies, each request at its own time, and resolves with what each would have denied. Counts are
 * exact, as long as `evicted` is 0.
 *
 * Rejects with `HEADGATE_INVALID_LIMIT` or `HEADGATE_INVALID_OPTION`; with `HEADGATE_LOG_UNREADABLE` if the log cannot be read or
 * contains no requests; with `HEADGATE_LOG_TOO_LARGE` if its clients do not fit into the memory; with `HEADGATE_STORE_UNAVAILABLE` if the
 * store does not answer; and with the reason of the signal.
 */
export async function replay(
  log: Log,
  policies: ReplayPolicies,
  options: ReplayOptions = {},
): Promise<ReplayResult> {
  rejectUnknownOptions("replay", options, OPTIONS);
  const { createStore, storeTimeout = "5s", framework, onResponse, signal } = options;
  if (framework !== undefined && !FRAMEWORKS.includes(framework)) {
    throw invalidValue(`framework must be ${FRAMEWORKS.join(" or ")}`, framework);
  }
  const named = readPolicies(policies);
  const requests = readLog(log, options);
  let now = 0;
  const clock = (): number => now;
  const timeout = parseDuration(storeTimeout, "storeTimeout", "HEADGATE_INVALID_OPTION");
  const runs = await startRuns(named, {
    ...{ framework, onResponse, clock, store: createStore?.(clock) },
    storeTimeout: toMilliseconds(timeout),
  });
  const onTime = (time: number): void => {
    now = time;
  };
  try {
    const result = await replayEntries(requests, { policies: named, runs, onTime, signal });
    if (result.log.requests === 0) throw noRequestsError(result.log);
    return result;
  } finally {
    await Promise.all(runs.map((run) => run.close()));
  }
}
