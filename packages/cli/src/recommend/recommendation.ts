import type { Duration, Limit } from "@headgate/core";
import type { ReplayedLog, Waits } from "../replay/result.ts";
import type { Score } from "./score.ts";
import type { Of } from "./target.ts";

/** The proposal for a log, and its reasons. Plain data, fit for JSON. */
export interface Recommendation {
  readonly log: ReplayedLog;
  readonly target: {
    readonly of: Of;
    readonly percent: number;
    /** Of all clients, or requests, of the log: how many may be denied at most. */
    readonly most: number;
  };
  readonly proposal: Proposal;
  /** The shortest window first. */
  readonly windows: readonly WindowProposal[];
  /** Caveats, as sentences. */
  readonly care: readonly string[];
}

/** A limit that meets the target. */
export interface Proposal {
  readonly limit: Limit;
  readonly window: Duration;
  readonly units: number;
  /** Why this window, as a sentence. */
  readonly why: string;
  /** A replay of the whole log: under the proposal, then under fewer and more units. */
  readonly replayed: readonly Replayed[];
  /** Null where the log cannot be halved. */
  readonly unseen: Unseen | null;
  /** The most that one client could be admitted within a day. */
  readonly mostInADay: number;
  /** The most that a client of the log asked for within any day. */
  readonly busiestInADay: number;
}

/** The result of a replay of the whole log. */
export interface Replayed extends Score {
  readonly units: number;
  readonly met: boolean;
  /** How long those denied are told to wait, in milliseconds; null without denials. */
  readonly waits: Waits | null;
}

/** A limit found on the earlier half of the requests alone, and its effect on the later half. */
export interface Unseen extends Score {
  readonly units: number;
  /** Whether the later half meets the target, too. */
  readonly met: boolean;
  /** The effect of the proposal on the later half. */
  readonly proposed: Score & { readonly met: boolean };
  /** Of the later half, in milliseconds since the epoch. */
  readonly from: number;
  readonly to: number;
}

/** The tightest limit of a window that meets the target. */
export interface WindowProposal extends Score {
  readonly window: Duration;
  readonly units: number;
  /** Whether the log is at least twice as long as the window. */
  readonly isLongEnough: boolean;
  /** How many times what the target needs within the shortest window this grants at once. */
  readonly excessAtOnce: number;
  /** How many times what the target needs within the longest window this grants in it. */
  readonly excessOverTime: number;
}
