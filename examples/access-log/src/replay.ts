import type { ReplayResult } from "@headgate/replay";
import { replay as replayLog } from "@headgate/replay";
import { Latencies } from "./latencies.ts";
import { openRedis } from "./redis.ts";
import type { Settings } from "./settings.ts";
import type { Surroundings } from "./surroundings.ts";

/** The result of a replay, and how long its requests took. */
export interface Replayed {
  readonly result: ReplayResult;
  readonly latencies: Latencies;
  /** Milliseconds from the first request to the last answer. */
  readonly elapsedMs: number;
}

/** Sends a log to an application behind the limiter, whose store has the time of the current request. */
export async function replay(
  { log, limits, framework, redisUrl }: Settings,
  { stderr, signal }: Surroundings,
): Promise<Replayed> {
  const latencies = new Latencies();
  let first: number | undefined;
  let last = 0;
  const redis = redisUrl === undefined ? undefined : await openRedis(redisUrl, stderr);
  try {
    const result = await replayLog(log === "-" ? process.stdin : log, limits, {
      framework,
      createStore: redis?.createStore,
      signal,
      onResponse(ms) {
        last = performance.now();
        first ??= last - ms;
        latencies.add(ms);
      },
    });
    return { result, latencies, elapsedMs: last - (first ?? last) };
  } finally {
    await redis?.close();
  }
}
