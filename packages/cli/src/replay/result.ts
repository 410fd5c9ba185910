import type { Policy } from "@headgate/core";
import type { MalformedLine } from "../log/logged-request.ts";

export type { MalformedLine };

/** The result of a replay under one or several policies. Plain data, fit for JSON; all counts are exact unless `approximate` says otherwise. */
export interface ReplayResult {
  readonly log: ReplayedLog;
  /** Milliseconds of log time in each column of a timeline. */
  readonly columnMs: number;
  /** All requests, by column, from `log.from` on. */
  readonly timeline: readonly number[];
  /** In the order in which they were given. */
  readonly policies: readonly PolicyResult[];
  /** How busy clients are at their busiest, for each window of the policies, in milliseconds. */
  readonly peaks: readonly ClientPeaks[];
}

/** The log that was read. */
export interface ReplayedLog {
  /** Paths; `-` is standard input. */
  readonly files: readonly string[];
  readonly lines: number;
  readonly requests: number;
  readonly clients: number;
  readonly malformed: number;
  /** The first few of them. */
  readonly examples: readonly MalformedLine[];
  /** Lines that were put in order. */
  readonly reordered: number;
  /** Lines that came too late to be put in order, and were replayed at the time of the previous line. */
  readonly late: number;
  /** Milliseconds since the epoch; null without requests. */
  readonly from: number | null;
  readonly to: number | null;
}

/** The result of one policy on a log. */
export interface PolicyResult {
  /** As given, or its limits in short. */
  readonly name: string;
  readonly limits: Policy;
  /** Its limits as reports say them: in what `--json` prints, so that a report is drawn from it without the limiter. */
  readonly description?: PolicyDescription;
  readonly allowed: number;
  readonly denied: number;
  readonly clientsDenied: number;
  /** Denials, by column of the timeline. */
  readonly timeline: readonly number[];
  /** Those denied most often first; at most 1,000. */
  readonly clients: readonly DeniedClient[];
  /** Of all denials, how long until the client might come back: milliseconds; null without denials. */
  readonly waitsMs: Waits | null;
  /** Subjects that memory had to forget although they counted; then denials may be missing. */
  readonly evicted: number;
}

/** A policy for readers. */
export interface PolicyDescription {
  /** As a sentence has its limits. */
  readonly text: string;
  /** As code has them. */
  readonly code: string;
  /** The units of each limit, and the time in which all of them come back, in milliseconds. */
  readonly grants: readonly LimitGrant[];
}

export interface LimitGrant {
  readonly units: number;
  readonly windowMs: number;
}

/** How long denied clients were told to wait, in milliseconds. */
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
  /** The longest that it was told to wait, in milliseconds. */
  readonly longestWaitMs: number;
  /** Of the first 20 clients: requests and denials, by column of the timeline. Missing where the log has more than 12 million requests. */
  readonly timeline?: { readonly requests: readonly number[]; readonly denied: readonly number[] };
}

/**
 * The most requests that each client made within any window of a length. Clients are counted as limits do: an IPv6 client is its
 * network.
 */
export interface ClientPeaks {
  /** Milliseconds. */
  readonly windowMs: number;
  /** How many clients have a peak of so many requests, in ascending order of peaks. */
  readonly counts: ReadonlyArray<{ readonly peak: number; readonly clients: number }>;
  /** Whether peaks are approximate, and by how much they are higher at most: 0 is exact, 0.01 is one in a hundred, 1 is twice as high. */
  readonly error: number;
}
