import type { Policy } from "@headgate/core";
import type { LogCounts } from "../log/read-log.ts";

/** The result of a replay under one or several policies. Plain data, also as JSON. All counts are exact unless `error` says otherwise. */
export interface ReplayResult {
  readonly log: ReplayedLog;
  /** The log time of each column of a timeline. */
  readonly columnMs: number;
  /** All requests, by column, from `log.from` on. */
  readonly timeline: readonly number[];
  /** In the order in which they were given. */
  readonly policies: readonly PolicyResult[];
  /** The peak rates of clients, for each window of the policies. */
  readonly peaks: readonly ClientPeaks[];
}

/** The log that was read. */
export interface ReplayedLog extends LogCounts {
  readonly requests: number;
  readonly clients: number;
  /** Milliseconds since the epoch; null without requests. */
  readonly from: number | null;
  readonly to: number | null;
}

/** The result of one policy on a log. */
export interface PolicyResult {
  /** The given name, or else the names of the limits. */
  readonly name: string;
  readonly limits: Policy;
  /** The limits as reports show them. */
  readonly description: PolicyDescription;
  readonly allowed: number;
  readonly denied: number;
  readonly clientsDenied: number;
  /** Denials, by column of the timeline. */
  readonly timeline: readonly number[];
  /** At most 1,000 clients, the most often denied first. */
  readonly clients: readonly DeniedClient[];
  /** The waits of all denials; null without denials. */
  readonly waitsMs: Waits | null;
  /** How often a subject was evicted from memory while it still counted. Above 0, denials may be missing. */
  readonly evicted: number;
}

/** A policy as reports show it, so that one can be drawn without the limiter. */
export interface PolicyDescription {
  /** The limits in words. */
  readonly text: string;
  /** The limits as code. */
  readonly code: string;
  /** The units and the window of each limit. */
  readonly grants: readonly LimitGrant[];
}

export interface LimitGrant {
  readonly units: number;
  readonly windowMs: number;
}

/** Percentiles of the waits that denied clients were told, in milliseconds. */
export interface Waits {
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly max: number;
}

/** A client that a policy denied. */
export interface DeniedClient {
  readonly client: string;
  readonly requests: number;
  readonly denied: number;
  /** Milliseconds since the epoch. */
  readonly firstDeniedAt: number;
  readonly lastDeniedAt: number;
  /** The longest wait that the client was told. */
  readonly longestWaitMs: number;
  /** The most frequent user agent of its denied requests. Missing if the log has none. */
  readonly agent?: string;
  /** The paths that it was denied most often, at most three, without queries. Missing if the log has none. */
  readonly paths?: readonly DeniedPath[];
  /** Requests and denials by column of the timeline, for the first 20 clients. Missing if the log has more than 12 million requests. */
  readonly timeline?: { readonly requests: readonly number[]; readonly denied: readonly number[] };
}

/**
 * A path, and how often requests for it were denied: at least this often if a client was denied more than 32 paths, if the policy denied
 * more than 4,096 clients, or in a recommendation for a log of more than 65,535 paths.
 */
export interface DeniedPath {
  readonly path: string;
  readonly denied: number;
}

/**
 * The most requests that each client made within any window of a length. Clients are counted like subjects: an IPv6 client is its
 * network.
 */
export interface ClientPeaks {
  /** Milliseconds. */
  readonly windowMs: number;
  /** How many clients have which peak, in ascending order of peaks. */
  readonly counts: ReadonlyArray<{ readonly peak: number; readonly clients: number }>;
  /** The relative error of the peaks, which may be too low: 0 is exact, 0.01 means 1 %, 1 means up to twice as high. */
  readonly error: number;
}
