import { addJitter } from "../common/background.ts";
import { shareInProcess } from "../common/client-state.ts";
import type { Decision, LimitState } from "../common/decision.ts";
import { bindingLimit } from "../common/decision.ts";
import { GLOBAL_DIMENSION } from "../common/policy.ts";
import { GLOBAL_SUBJECT } from "../policy/counters.ts";
import type { UsageSubjects } from "../store/store.ts";
import type { BlockedSubject } from "./block-sightings.ts";
import { startOf } from "./layout.ts";
import type { LimiterCounts, UsageRow } from "./operations.ts";
import { addRows } from "./operations.ts";
import { formatMember, subjectKey, TopSubjects } from "./top-subjects.ts";

/** When a process sends its counts, in milliseconds; up to a quarter is added to each. */
interface UsageIntervals {
  /** The interval between numbers. */
  everyMs: number;
  /** The interval at which a limiter's subjects are sent along. */
  subjectsEveryMs: number;
}

/** Shared by all copies of this package, so that a test can set other times. */
export const usageIntervals: () => UsageIntervals = shareInProcess("usageIntervals", () => ({
  everyMs: 4_000,
  subjectsEveryMs: 25_000,
}));

/** How many limits of a limiter are counted separately, as in usage.lua. */
const MAX_LIMITS = 64;

/**
 * Denials that are not counted for a limit: denials by a block of any kind, and by limits for which there is no room. Names
 * of limits contain a space, so these cannot be one.
 */
export const DENIED_BY_BLOCK = "block";
export const DENIED_BY_OTHER_LIMITS = "more";

/** Records a block that lasts this many more milliseconds. */
export type OnBlock = (blocked: BlockedSubject, restMs: number) => void;

/** The unsent counts of a limiter in this process. */
export class UsageCounter {
  /** Whether the limiter is open. */
  isOpen = true;
  readonly #name: string;
  readonly #subjects: UsageSubjects | undefined;
  readonly #onBlock: OnBlock;
  readonly #topSubjects: TopSubjects;
  readonly #topDenied: TopSubjects;
  /** Denials, by the dimension and name of the limit. */
  readonly #denialsByLimit = new Map<string, number>();
  #rows: UsageRow[] = [];
  #allowed = 0;
  #denied = 0;
  #degraded = 0;
  /** When its subjects are due, in microseconds. */
  #subjectsDueAt = Number.NEGATIVE_INFINITY;

  /**
   * Without `subjects` it counts for all limiters that have no counts of their own, and tracks no subjects. `capacity` is how
   * many subjects a list counts at least; `onBlock` is called for each denial by a block.
   */
  constructor(
    name: string,
    subjects: UsageSubjects | undefined,
    capacity: () => number,
    onBlock: OnBlock = () => {},
  ) {
    this.#name = name;
    this.#subjects = subjects;
    this.#onBlock = onBlock;
    this.#topSubjects = new TopSubjects(capacity);
    this.#topDenied = new TopSubjects(capacity);
  }

  /** How many rows wait to be sent. */
  get rowCount(): number {
    return this.#rows.length;
  }

  /** Whether there is nothing to send. */
  get isEmpty(): boolean {
    return this.rowCount + this.#allowed + this.#denied + this.#topSubjects.size === 0;
  }

  /**
   * Whether its subjects are due at a time in microseconds. Spreads out limiters that started together, that could not send for
   * long, or whose clock was set.
   */
  isDue(now: number): boolean {
    if (this.#topSubjects.size === 0) return false;
    if (!this.isOpen) return true;
    const every = usageIntervals().subjectsEveryMs * 1_000;
    if (Math.abs(now - this.#subjectsDueAt) > 2 * every)
      this.#subjectsDueAt = now + every * Math.random();
    return now >= this.#subjectsDueAt;
  }

  /** Counts a decision about subjects, by dimension. A denial counts only for subjects whose limits denied. */
  record(subjects: Readonly<Record<string, string>>, decision: Decision): void {
    const { wouldAllow, degraded } = decision;
    if (wouldAllow) this.#allowed += 1;
    else this.#denied += 1;
    if (degraded) this.#degraded += 1;
    if (this.#subjects === undefined) return;
    for (const dimension in subjects) {
      this.#topSubjects.add(subjectKey(dimension, subjects[dimension] as string));
    }
    if (!wouldAllow) this.#recordDenial(subjects, decision);
  }

  #recordDenial(
    subjects: Readonly<Record<string, string>>,
    { limits, blocked }: Pick<Decision, "limits" | "blocked">,
  ): void {
    if (blocked) this.#countForLimit(DENIED_BY_BLOCK);
    else if (limits.length > 0) this.#countForLimit(limitKey(bindingLimit(limits, false)));
    const denying = new Set(limits.filter(({ allowed }) => !allowed).map(({ per }) => per));
    for (const dimension of denying) {
      // Only `global` limits leave the subject unnamed.
      const subject = dimension === GLOBAL_DIMENSION ? GLOBAL_SUBJECT : subjects[dimension];
      if (subject === undefined) continue;
      this.#topDenied.add(subjectKey(dimension, subject));
      if (blocked) this.#recordBlock(dimension, subject, limits);
    }
  }

  /** Records a block that was set with a reason. */
  recordManualBlock(dimension: string, subject: string, restMs: number, reason: string): void {
    const subjects = this.#subjects ?? "hashed";
    this.#onBlock({ limiter: this.#name, dimension, subject, subjects, reason }, restMs);
  }

  /** A decision does not say which dimension is blocked: a reader checks the counters of each dimension that denied. */
  #recordBlock(dimension: string, subject: string, limits: Decision["limits"]): void {
    const denying = limits.filter(({ allowed, per }) => !allowed && per === dimension);
    const rests = denying.map(({ retryAfterMs, resetAfterMs }) =>
      Number.isFinite(retryAfterMs) ? retryAfterMs : resetAfterMs,
    );
    const subjects = this.#subjects ?? "hashed";
    this.#onBlock({ limiter: this.#name, dimension, subject, subjects }, Math.max(...rests));
  }

  /** Counts a denial for the limit with the longest wait, so that each denial counts once. */
  #countForLimit(name: string): void {
    const isRoom = this.#denialsByLimit.size < MAX_LIMITS || this.#denialsByLimit.has(name);
    const key = isRoom ? name : DENIED_BY_OTHER_LIMITS;
    this.#denialsByLimit.set(key, (this.#denialsByLimit.get(key) ?? 0) + 1);
  }

  /** Moves the counts since the last time into a row, dated at a moment in microseconds. */
  closeRow(at: number): void {
    if (this.#allowed + this.#denied === 0) return;
    this.#rows.push({
      at,
      allowed: this.#allowed,
      denied: this.#denied,
      degraded: this.#degraded,
    });
    this.#allowed = 0;
    this.#denied = 0;
    this.#degraded = 0;
  }

  /** Merges the rows of each period of `span` microseconds. */
  mergeRows(span: number): void {
    const bySpan = new Map<number, UsageRow>();
    for (const row of this.#rows) {
      const from = startOf(row.at, span);
      bySpan.set(from, addRows(bySpan.get(from), row));
    }
    this.#rows = [...bySpan.values()];
  }

  /** Takes up to `most` rows. */
  takeRows(most: number): LimiterCounts {
    return { name: this.#name, rows: this.#rows.splice(0, most) };
  }

  /** Takes up to `most` rows and the subjects, at a time in microseconds. */
  takeAll(most: number, now: number): LimiterCounts {
    this.#subjectsDueAt = now + addJitter(usageIntervals().subjectsEveryMs, 0.25) * 1_000;
    const write = (key: string): string => formatMember(key, this.#subjects === "plain");
    const used = this.#topSubjects.take(write);
    const denied = this.#topDenied.take(write);
    const denials = Object.fromEntries(this.#denialsByLimit);
    this.#denialsByLimit.clear();
    return { ...this.takeRows(most), subjects: { used, denied, denials } };
  }
}

/** The name of a limit in usage: dimensions contain no spaces. */
function limitKey({ per, name }: Pick<LimitState, "per" | "name">): string {
  return `${per} ${name}`;
}
