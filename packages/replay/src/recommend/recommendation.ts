import type { Duration, Limit } from "@headgate/core";
import type { ReplayedLog, ReplayResult, Waits } from "../replay/result.ts";
import type { Target } from "./target.ts";

/** The recommended limit for a log, and its reasons. Plain data, also as JSON. */
export interface Recommendation {
  readonly log: ReplayedLog;
  readonly target: {
    readonly of: Target["of"];
    readonly percent: number;
    /** How many clients or requests of the log may be denied. */
    readonly maxDenied: number;
  };
  readonly proposal: Proposal;
  /** Sorted, the shortest window first. */
  readonly windows: readonly WindowProposal[];
  /** The caveats, as sentences. */
  readonly caveats: readonly string[];
  /** The replay of the whole log: under the proposed limit first, then under fewer and more units. */
  readonly replay: ReplayResult;
}

/** A limit that meets the target. */
export interface Proposal {
  readonly limit: Limit;
  readonly window: Duration;
  readonly units: number;
  /** The reason for this window, as a sentence. */
  readonly reason: string;
  /** Replays of the whole log: under the proposal first, then under fewer and more units. */
  readonly replays: readonly ReplayScore[];
  /** Null if the log cannot be halved. */
  readonly holdout: HoldoutScore | null;
  /** The most requests of one client that the limit admits within any day. */
  readonly maxPerDay: number;
  /** The most requests that a client of the log made within any day. */
  readonly busiestClientPerDay: number;
}

/** The result of a replay of the whole log. */
export interface ReplayScore extends Score {
  readonly units: number;
  readonly meetsTarget: boolean;
  /** The waits that denied clients are told; null without denials. */
  readonly waitsMs: Waits | null;
}

/** A limit found on the earlier half of the requests alone, and its effect on the later half. */
export interface HoldoutScore extends Score {
  readonly units: number;
  /** Whether the limit meets the target on the later half too. */
  readonly meetsTarget: boolean;
  /** The effect of the proposal on the later half. */
  readonly proposal: Score & { readonly meetsTarget: boolean };
  /** The time span of the later half, in milliseconds since the epoch. */
  readonly from: number;
  readonly to: number;
}

/** The tightest limit of a window that meets the target. */
export interface WindowProposal extends Score {
  readonly window: Duration;
  readonly units: number;
  /** Whether the log is at least twice as long as the window. */
  readonly isLogLongEnough: boolean;
  /** The units granted at once, divided by the units that the target needs within the shortest window. */
  readonly excessAtOnce: number;
  /** The units granted within the longest window, divided by the units that the target needs there. */
  readonly excessOverTime: number;
}

/** The effect of a limit on some requests. */
export interface Score {
  readonly requests: number;
  readonly denied: number;
  readonly clients: number;
  readonly clientsDenied: number;
}
