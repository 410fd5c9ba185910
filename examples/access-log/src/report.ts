import type { Framework, ReplayLimit } from "@headgate/replay";
import type { Replayed } from "./replay.ts";
import type { Settings } from "./settings.ts";

/** What happened to one client's requests. */
interface ClientTally {
  /** As the log names it. */
  readonly client: string;
  readonly requests: number;
  readonly admitted: number;
  readonly denied: number;
}

/** What `--json` prints. Counts depend only on the log and the limits; what follows `clients` differs with each run. */
export interface Report {
  /** Requests sent: `admitted` and `denied` together. */
  readonly requests: number;
  readonly admitted: number;
  readonly denied: number;
  /** Lines of the log that are not requests, and were not sent. */
  readonly malformed: number;
  /** The clients that were denied, the most often denied first; at most 1,000. */
  readonly clients: readonly ClientTally[];
  /** Different clients in the log. */
  readonly clientsTotal: number;
  /** Those that were denied at least once. */
  readonly clientsDenied: number;
  readonly log: string;
  /** The log's first and last moment; null when it holds no request. */
  readonly from: string | null;
  readonly to: string | null;
  readonly limits: readonly ReplayLimit[];
  readonly framework: Framework;
  readonly store: "memory" | "redis";
  readonly seconds: number;
  /** Requests per second, one after another. */
  readonly perSecond: number;
  /** Milliseconds from a request to its answer, in the middle and for the slowest hundredth; null without requests. */
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
}

export function makeReport(settings: Settings, { result, latencies, elapsedMs }: Replayed): Report {
  const { requests, clients: clientsTotal, malformed, from, to } = result.log;
  const [policy] = result.policies;
  return {
    requests,
    admitted: policy?.allowed ?? 0,
    denied: policy?.denied ?? 0,
    malformed,
    clients: (policy?.clients ?? []).map(({ client, requests, denied }) => ({
      ...{ client, requests, admitted: requests - denied, denied },
    })),
    clientsTotal,
    clientsDenied: policy?.clientsDenied ?? 0,
    log: settings.log,
    from: momentOf(from),
    to: momentOf(to),
    limits: settings.limits,
    framework: settings.framework,
    store: settings.redisUrl === undefined ? "memory" : "redis",
    seconds: round(elapsedMs / 1_000),
    perSecond: requests === 0 ? 0 : Math.round(requests / (elapsedMs / 1_000)),
    p50Ms: round(latencies.percentile(0.5)),
    p99Ms: round(latencies.percentile(0.99)),
  };
}

function momentOf(time: number | null): string | null {
  return time === null ? null : new Date(time).toISOString();
}

/** To thousandths. */
function round<N extends number | null>(value: N): N {
  return (value === null ? null : Math.round(value * 1_000) / 1_000) as N;
}
