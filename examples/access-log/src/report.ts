import type { AccessLog } from "./access-log.ts";
import type { ReplayLimit } from "./limits.ts";
import type { Sent } from "./send-log.ts";
import type { Framework, Settings } from "./settings.ts";
import type { ClientTally } from "./tally.ts";

/** What `--json` prints. Counts depend on the log and the limits only; what follows `clients` is of this run. */
export interface Report {
  /** Requests sent: `admitted` and `denied` together. */
  readonly requests: number;
  readonly admitted: number;
  readonly denied: number;
  /** Lines of the log that are no requests, and were not sent. */
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

const MAX_CLIENTS = 1_000;

export function makeReport(settings: Settings, log: AccessLog, sent: Sent): Report {
  const { tally, latencies, elapsedMs } = sent;
  const requests = tally.admitted + tally.denied;
  const clients = tally.deniedClients();
  return {
    requests,
    admitted: tally.admitted,
    denied: tally.denied,
    malformed: log.malformed,
    clients: clients.slice(0, MAX_CLIENTS),
    clientsTotal: log.clients,
    clientsDenied: clients.length,
    log: settings.log,
    from: momentOf(log.entries[0]),
    to: momentOf(log.entries.at(-1)),
    limits: settings.limits,
    framework: settings.framework,
    store: settings.redisUrl === undefined ? "memory" : "redis",
    seconds: round(elapsedMs / 1_000),
    perSecond: requests === 0 ? 0 : Math.round(requests / (elapsedMs / 1_000)),
    p50Ms: round(latencies.percentile(0.5)),
    p99Ms: round(latencies.percentile(0.99)),
  };
}

function momentOf(entry: { readonly time: number } | undefined): string | null {
  return entry === undefined ? null : new Date(entry.time).toISOString();
}

/** To thousandths. */
function round<N extends number | null>(value: N): N {
  return (value === null ? null : Math.round(value * 1_000) / 1_000) as N;
}
