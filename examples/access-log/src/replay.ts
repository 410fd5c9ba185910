import type { ConnectionOptions, ReplayResult } from "@headgate/cli/replay";
import { namePolicy, replayLogs } from "@headgate/cli/replay";
import { Latencies } from "./latencies.ts";
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
  surroundings: Surroundings,
): Promise<Replayed> {
  const latencies = new Latencies();
  let first: number | undefined;
  let last = 0;
  const result = await replayLogs([log], [namePolicy(limits)], {
    http: framework,
    redis: redisUrl === undefined ? undefined : redisOf(redisUrl, surroundings),
    onResponse(ms) {
      last = performance.now();
      first ??= last - ms;
      latencies.add(ms);
    },
    warn: (message) => {
      surroundings.stderr.write(`start: ${message}\n`);
    },
    context: { ...surroundings, stdin: process.stdin },
  });
  return { result, latencies, elapsedMs: last - (first ?? last) };
}

/** The URL from the environment is in no argument, where others could see it. */
function redisOf(url: string, { environment }: Surroundings): ConnectionOptions {
  return url === environment["REDIS_URL"] ? {} : { redis: url };
}
