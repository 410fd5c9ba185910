import { fingerprint } from "../common/key.ts";
import { toMilliseconds } from "../common/time.ts";

/** The control record, which every process of a prefix follows. Times are microseconds since the epoch, by the server's clock. */
export interface ControlRecord {
  /** The time of the record's latest change, in microseconds since the epoch; grows with each change. 0 if there is no record. */
  readonly version: number;
  readonly overrides: readonly Override[];
  readonly invalidations: readonly Invalidation[];
  /** The addresses and networks that all limiters of the prefix refuse; missing if there are none. */
  readonly denyList?: readonly DeniedNetwork[] | undefined;
  /**
   * The `from`, in microseconds since the epoch, of the newest invalidation that was dropped to make room: processes drop
   * everything cached before it.
   */
  readonly invalidateAllBefore?: number | undefined;
}

/** Replaces unit counts of a limiter, or of one of its subjects, for a time. */
export interface Override {
  readonly limiter: string;
  /** The subject by dimension; missing if the override applies to all subjects. */
  readonly subject?: Readonly<Record<string, string>> | undefined;
  /** The new unit counts, by the name of the limit that they apply to. */
  readonly limits?: Readonly<Record<string, LimitOverride>> | undefined;
  /** Whether the limiter is in shadow mode while the override lasts. */
  readonly shadow?: boolean | undefined;
  /**
   * From when on every process follows it; each one does as soon as it has read it. Microseconds since the epoch, by the server's
   * clock.
   */
  readonly from: number;
  /** When it ends: microseconds since the epoch, by the server's clock. Null if it lasts until removed. */
  readonly until: number | null;
}

/** Unit counts that replace a limit's own. Each field must be an option of the limit's algorithm. */
export interface LimitOverride {
  /** The units per window; of `concurrency`, the slots. */
  readonly limit?: number | undefined;
  /** Of `gcra`: the units that may be spent at once. */
  readonly burst?: number | undefined;
  /** Of `tokenBucket`: the most tokens that the bucket holds. */
  readonly capacity?: number | undefined;
  /** Of `tokenBucket`: the tokens that are added every `every`. */
  readonly refill?: number | undefined;
}

/** An operator's action on a subject: processes that read it drop everything cached about the subject. */
export interface Invalidation {
  readonly limiter: string;
  /** The subject by dimension. */
  readonly subject: Readonly<Record<string, string>>;
  readonly kind: "reset" | "block" | "unblock";
  /**
   * From this time on, no process uses anything that it cached before the action: microseconds since the epoch, by the server's
   * clock.
   */
  readonly from: number;
}

/** An address or network on the deny list of the prefix. */
export interface DeniedNetwork {
  /** An address such as `203.0.113.7`, or a network such as `2001:db8::/32`. */
  readonly network: string;
  readonly reason?: string | undefined;
  /** The operator who added it. */
  readonly by?: string | undefined;
  /**
   * From when on every process follows it; each one does as soon as it has read it. Microseconds since the epoch, by the server's
   * clock.
   */
  readonly from: number;
  /** When it ends: microseconds since the epoch, by the server's clock. Null if it lasts until removed. */
  readonly until: number | null;
}

/** Whether an item has not ended, at a time of the server's clock in microseconds. */
export function isActive({ until }: Pick<Override, "until">, now: number): boolean {
  return until === null || now < until;
}

/** A text that is equal for the same limiter and subject. */
export function formatOverrideKey({
  limiter,
  subject,
}: Pick<Override, "limiter" | "subject">): string {
  return JSON.stringify([limiter, subject === undefined ? null : Object.entries(subject).sort()]);
}

/** Used if there is no record. */
export const NO_RECORD: ControlRecord = { version: 0, overrides: [], invalidations: [] };

/** In microseconds: a process does not use a record that it read longer ago than this, unless it cannot read. */
export const MAX_RECORD_AGE_MICROS = 1_900_000;

/** In microseconds: how long after a change every process follows it, including those whose clocks run slowly. */
export const EFFECTIVE_AFTER_MICROS = 2_000_000;

/** The largest number of overrides in a record. */
export const MAX_OVERRIDES = 1_000;

/** The largest number of invalidations in a record. */
export const MAX_INVALIDATIONS = 256;

/** The largest number of entries on the deny list. */
export const MAX_DENIED = 1_000;

/** A time in microseconds as a date, rounded up, so that nothing is in force later than its date says. */
export function toDate(microseconds: number): Date {
  return new Date(toMilliseconds(microseconds));
}

type Subject = Readonly<Record<string, string>>;

/**
 * How many characters of the hash of a forgotten subject are kept, with 6 bits each. Enough for somebody who knows the subject to
 * recognise it, but shared by 256 IPv4 addresses, so that the address cannot be recovered.
 */
const HASH_CHARACTERS = 4;

/** The subject to forget, by dimension, in any limiter. */
export class ForgottenSubject {
  readonly #subject: Subject;

  constructor(subject: Subject) {
    this.#subject = subject;
  }

  /** Whether a subject has the value to forget in at least one dimension. */
  matches(subject: Subject | undefined): boolean {
    return Object.entries(subject ?? {}).some((one) => this.#isForgotten(one));
  }

  /** A copy of a subject with a mark instead of the value to forget. */
  redact(subject: Subject): Subject {
    const hidden = Object.entries(subject).map(([dimension, text]) => [
      dimension,
      this.#isForgotten([dimension, text]) ? redactValue(text) : text,
    ]);
    return Object.fromEntries(hidden) as Subject;
  }

  #isForgotten([dimension, text]: readonly [string, string]): boolean {
    return Object.hasOwn(this.#subject, dimension) && this.#subject[dimension] === text;
  }
}

function redactValue(text: string): string {
  return `~forgotten~${fingerprint(text).slice(0, HASH_CHARACTERS)}`;
}
