import type { Duration, Limit } from "@headgate/core";
import type { ReplayedLog, Waits } from "../replay/result.ts";
import type { Score } from "./score.ts";
import type { TargetUnit } from "./target.ts";

/** The proposal for a log, and its reasons. Plain data, fit for JSON. */
export interface Recommendation {
  readonly log: ReplayedLog;
  readonly target: {
    readonly of: TargetUnit;
    readonly percent: number;
    /** Of all clients, or requests, of the log: how many may be denied at most. */
    readonly maxDenied: number;
  };
  readonly proposal: Proposal;
  /** The shortest window first. */
  readonly windows: readonly WindowProposal[];
  /** Caveats, as sentences. */
  readonly caveats: readonly string[];
}

/** A limit that meets the target. */
export interface Proposal {
  readonly limit: Limit;
  readonly window: Duration;
  readonly units: number;
  /** Why this window, as a sentence. */
  readonly reason: string;
  /** A replay of the whole log: under the proposal, then under fewer and more units. */
  readonly replays: readonly ReplayScore[];
  /** Null where the log cannot be halved. */
  readonly holdout: HoldoutScore | null;
  /** The most that one client could be admitted within a day. */
  readonly maxPerDay: number;
  /** The most that a client of the log asked for within any day. */
  readonly busiestClientPerDay: number;
}

/** The result of a replay of the whole log. */
export interface ReplayScore extends Score {
  readonly units: number;
  readonly meetsTarget: boolean;
  /** How long those denied are told to wait, in milliseconds; null without denials. */
  readonly waitsMs: Waits | null;
}

/** A limit found on the earlier half of the requests alone, and its effect on the later half. */
export interface HoldoutScore extends Score {
  readonly units: number;
  /** Whether the later half meets the target, too. */
  readonly meetsTarget: boolean;
  /** The effect of the proposal on the later half. */
  readonly proposal: Score & { readonly meetsTarget: boolean };
  /** Of the later half, in milliseconds since the epoch. */
  readonly from: number;
  readonly to: number;
}

/** The tightest limit of a window that meets the target. */
export interface WindowProposal extends Score {
  readonly window: Duration;
  readonly units: number;
  /** Whether the log is at least twice as long as the window. */
  readonly isLogLongEnough: boolean;
  /** How many times what the target needs within the shortest window this grants at once. */
  readonly excessAtOnce: number;
  /** How many times what the target needs within the longest window this grants in it. */
  readonly excessOverTime: number;
}
