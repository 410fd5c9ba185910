import type { LimitDenials, TopSubject, UsageCounts } from "@headgate/core/admin";

/** The order of subjects. */
export type SubjectOrder = "used" | "denied";

/** The subjects that ask most, by usage, as `--json` prints them. */
export interface UsageTop {
  readonly limiter: string;
  readonly source: "usage";
  readonly by: SubjectOrder;
  /** When it was read, and since when subjects were counted: milliseconds since the epoch, by the server's clock. */
  readonly at: number;
  readonly from: number;
  /** Of the span, in all. */
  readonly total: UsageCounts;
  /** How many decisions there were about all subjects, and at most about one that is not listed. */
  readonly decisions: number;
  readonly unlisted: number;
  readonly subjects: readonly TopSubject[];
}

/** A limiter among all. */
export interface FleetLimiter {
  readonly limiter: string;
  readonly total: UsageCounts;
  /** The denials of each limit, and those by a block. */
  readonly byLimit: readonly LimitDenials[];
  readonly byBlock: number;
  /** Of the list of subjects, as for one limiter. */
  readonly decisions: number;
  readonly unlisted: number;
  /** The first three. */
  readonly subjects: readonly TopSubject[];
}

/** The limiters that deny most, by usage, as `--json` prints them. */
export interface FleetTop {
  readonly source: "usage";
  /** What puts subjects in order. */
  readonly by: SubjectOrder;
  readonly at: number;
  /** Since when subjects were counted; missing without limiters. */
  readonly from?: number | undefined;
  readonly limiters: readonly FleetLimiter[];
  /** All limiters beyond the first 500 together; missing if there are none. */
  readonly others?: UsageCounts | undefined;
}

/** The subjects with the largest used share, by the counters, as `--json` prints them. */
export interface CounterTop {
  readonly limiter: string;
  readonly source: "counters";
  readonly by: "used";
  /** How many keys of the server were looked at, and whether these are all. */
  readonly scannedKeys: number;
  readonly isComplete: boolean;
  /** How many subjects are known by a hash only, and left out. */
  readonly hashedSubjects: number;
  readonly subjects: readonly CounterSubject[];
}

/** How much a subject has used of the limit that leaves it the least. */
export interface CounterSubject {
  readonly dimension: string;
  readonly subject: string;
  /** The limit's name, its units, and the used ones. */
  readonly name: string;
  readonly limit: number;
  readonly used: number;
  readonly blocked: boolean;
}
