import { spread } from "../common/background.ts";
import { processPart } from "../common/client-state.ts";
import type { Decision, LimitState } from "../common/decision.ts";
import { bindingLimit } from "../common/decision.ts";
import { GLOBAL_DIMENSION } from "../common/policy.ts";
import { GLOBAL_SUBJECT } from "../policy/counters.ts";
import type { UsageSubjects } from "../store/store.ts";
import type { BlockedSubject } from "./block-sightings.ts";
import type { LimiterCount, UsageRow } from "./steps.ts";
import { hashSubject, subjectKey, TopSubjects, writeSubject } from "./top-subjects.ts";

/** When a process sends its counts, in milliseconds; up to a quarter is added to each. */
interface UsageTimes {
  /** The interval between numbers. */
  every: number;
  /** The interval at which a limiter's subjects are sent along. */
  subjectsEvery: number;
}

/** Shared by all copies of this package, so that a test can set other times. */
export const usageTimes: () => UsageTimes = processPart("usageTimes", () => ({
  every: 4_000,
  subjectsEvery: 25_000,
}));

/** How many limits of a limiter are counted separately, also in days.lua. */
const MOST_LIMITS = 64;

/**
 * Denials that are not counted for a limit: those by a block, whoever set it, and those by limits beyond the first ones. Names
 * of limits contain a space, so these cannot be one.
 */
export const BY_BLOCK = "block";
export const BY_MORE = "more";

/** A limiter's id in keys. */
export function limiterId(name: string): string {
  return hashSubject(name);
}

/** Records a block that lasts this many more milliseconds. */
export type NoteBlock = (blocked: BlockedSubject, restMs: number) => void;

/** The unsent counts of a limiter in this process. */
export class UsageCounter {
  /** Whether the limiter is open. */
  isOpen = true;
  readonly #name: string;
  readonly #id: string;
  readonly #subjects: UsageSubjects | undefined;
  readonly #onBlock: NoteBlock;
  readonly #used: TopSubjects;
  readonly #refused: TopSubjects;
  /** Denials, by the dimension and name of the limit. */
  readonly #limits = new Map<string, number>();
  #rows: UsageRow[] = [];
  #allowed = 0;
  #denied = 0;
  #degraded = 0;
  /** When its subjects are due, in microseconds. */
  #due = Number.NEGATIVE_INFINITY;

  /**
   * Without `subjects` it counts for all limiters that have no counts of their own, and tracks no subjects. `capacity` is how
   * many subjects a list counts at least; `onBlock` is called for each denial by a block.
   */
  constructor(
    name: string,
    subjects: UsageSubjects | undefined,
    capacity: () => number,
    onBlock: NoteBlock = () => {},
  ) {
    this.#name = name;
    this.#id = subjects === undefined ? "" : limiterId(name);
    this.#subjects = subjects;
    this.#onBlock = onBlock;
    this.#used = new TopSubjects(capacity);
    this.#refused = new TopSubjects(capacity);
  }

  /** How many rows wait to be sent. */
  get rows(): number {
    return this.#rows.length;
  }

  /** Whether there is nothing to send. */
  get isEmpty(): boolean {
    return this.rows + this.#allowed + this.#denied + this.#used.size === 0;
  }

  /**
   * Whether its subjects are due at a time in microseconds. Spreads out limiters that started together, that could not send for
   * long, or whose clock was set.
   */
  isDue(now: number): boolean {
    if (this.#used.size === 0) return false;
    if (!this.isOpen) return true;
    const every = usageTimes().subjectsEvery * 1_000;
    if (Math.abs(now - this.#due) > 2 * every) this.#due = now + every * Math.random();
    return now >= this.#due;
  }

  /** Counts a decision about subjects, by dimension. A denial counts only for subjects whose limits denied. */
  note(subjects: Readonly<Record<string, string>>, decision: Decision): void {
    const { wouldAllow, degraded } = decision;
    if (wouldAllow) this.#allowed += 1;
    else this.#denied += 1;
    if (degraded) this.#degraded += 1;
    if (this.#subjects === undefined) return;
    for (const dimension in subjects) {
      this.#used.add(subjectKey(dimension, subjects[dimension] as string));
    }
    if (!wouldAllow) this.#noteDenied(subjects, decision);
  }

  #noteDenied(
    subjects: Readonly<Record<string, string>>,
    { limits, blocked }: Pick<Decision, "limits" | "blocked">,
  ): void {
    if (blocked) this.#noteLimit(BY_BLOCK);
    else if (limits.length > 0) this.#noteLimit(nameOf(bindingLimit(limits, false)));
    const denying = new Set(limits.filter(({ allowed }) => !allowed).map(({ per }) => per));
    for (const dimension of denying) {
      // Only `global` limits leave the subject unnamed.
      const subject = dimension === GLOBAL_DIMENSION ? GLOBAL_SUBJECT : subjects[dimension];
      if (subject === undefined) continue;
      this.#refused.add(subjectKey(dimension, subject));
      if (blocked) this.#noteBlock(dimension, subject, limits);
    }
  }

  /** A decision does not tell which dimension is blocked: a reader checks the counters of each that denied. */
  #noteBlock(dimension: string, subject: string, limits: Decision["limits"]): void {
    const denying = limits.filter(({ allowed, per }) => !allowed && per === dimension);
    const rests = denying.map(({ retryAfterMs, resetAfterMs }) =>
      Number.isFinite(retryAfterMs) ? retryAfterMs : resetAfterMs,
    );
    const subjects = this.#subjects ?? "hashed";
    this.#onBlock({ limiter: this.#name, dimension, subject, subjects }, Math.max(...rests));
  }

  /** Counts a denial for the limit with the longest wait, so that each denial counts once. */
  #noteLimit(name: string): void {
    const isRoom = this.#limits.size < MOST_LIMITS || this.#limits.has(name);
    const key = isRoom ? name : BY_MORE;
    this.#limits.set(key, (this.#limits.get(key) ?? 0) + 1);
  }

  /** Moves the counts since the last time into a row, dated at a moment in microseconds. */
  seal(at: number): void {
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
  thin(span: number): void {
    const bySpan = new Map<number, UsageRow>();
    for (const row of this.#rows) {
      const key = Math.floor(row.at / span);
      const before = bySpan.get(key);
      bySpan.set(key, before === undefined ? row : joined(before, row));
    }
    this.#rows = [...bySpan.values()];
  }

  /** Takes up to `most` rows. */
  takeRows(most: number): LimiterCount {
    const rows = this.#rows.splice(0, most);
    return { id: this.#id, name: this.#name, rows, used: "", denied: "", limits: "" };
  }

  /** Takes up to `most` rows and the subjects, at a time in microseconds. */
  takeAll(most: number, now: number): LimiterCount {
    this.#due = now + spread(usageTimes().subjectsEvery, 0.25) * 1_000;
    const write = (key: string): string => writeSubject(key, this.#subjects === "plain");
    const limits = JSON.stringify(Object.fromEntries(this.#limits));
    this.#limits.clear();
    return {
      ...this.takeRows(most),
      used: this.#used.take(write),
      denied: this.#refused.take(write),
      limits,
    };
  }
}

/** The name of a limit in usage: dimensions contain no spaces. */
function nameOf({ per, name }: Pick<LimitState, "per" | "name">): string {
  return `${per} ${name}`;
}

function joined(one: UsageRow, other: UsageRow): UsageRow {
  return {
    at: one.at,
    allowed: one.allowed + other.allowed,
    denied: one.denied + other.denied,
    degraded: one.degraded + other.degraded,
  };
}
