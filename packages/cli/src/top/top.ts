import type { LimitDenials, TopSubject, UsageCounts } from "@headgate/core/admin";

/** The order of subjects. */
export type SubjectOrder = "used" | "denied";

/** The busiest or most denied subjects by usage, as printed by `--json`. */
export interface UsageTop {
  readonly limiter: string;
  readonly source: "usage";
  readonly by: SubjectOrder;
  /** The time of reading, and the time since which subjects were counted: milliseconds since the epoch, by the server's clock. */
  readonly at: number;
  readonly from: number;
  /** The totals of the span. */
  readonly total: UsageCounts;
  /** The number of decisions on all subjects, and the most on a subject that is not listed. */
  readonly decisions: number;
  readonly unlisted: number;
  readonly subjects: readonly TopSubject[];
}

/** One limiter in the list of all limiters. */
export interface FleetLimiter {
  readonly limiter: string;
  readonly total: UsageCounts;
  /** The denials of each limit, and those by blocks. */
  readonly byLimit: readonly LimitDenials[];
  readonly byBlock: number;
  /** As in `UsageTop`. */
  readonly decisions: number;
  readonly unlisted: number;
  /** The first three subjects. */
  readonly subjects: readonly TopSubject[];
}

/** The limiters with the most denials by usage, as printed by `--json`. */
export interface FleetTop {
  readonly source: "usage";
  /** The order of subjects. */
  readonly by: SubjectOrder;
  readonly at: number;
  /** The time since which subjects were counted; missing without limiters. */
  readonly from?: number | undefined;
  readonly limiters: readonly FleetLimiter[];
  /** The sum of all limiters beyond the first 500; missing if there are none. */
  readonly others?: UsageCounts | undefined;
}

/** The subjects with the largest used share by the counters, as printed by `--json`. */
export interface CounterTop {
  readonly limiter: string;
  readonly source: "counters";
  readonly by: "used";
  /** The number of scanned keys, and whether these are all. */
  readonly scannedKeys: number;
  readonly isComplete: boolean;
  /** The number of subjects that are known only by their hash and not listed. */
  readonly hashedSubjects: number;
  readonly subjects: readonly CounterSubject[];
}

/** The usage of the limit of which the subject has used the largest share. */
export interface CounterSubject {
  readonly dimension: string;
  readonly subject: string;
  /** The name, the units and the used units of the limit. */
  readonly name: string;
  readonly limit: number;
  readonly used: number;
  readonly blocked: boolean;
}
