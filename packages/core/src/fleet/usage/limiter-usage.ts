import { spread } from "../../base/background.ts";
import { processPart } from "../../base/client-state.ts";
import type { Decision, LimitState } from "../../base/decision.ts";
import { bindingLimit } from "../../base/decision.ts";
import { GLOBAL_DIMENSION } from "../../base/policy.ts";
import { EVERYBODY } from "../../counting/counters.ts";
import type { UsageSubjects } from "../../store/store.ts";
import type { BlockedSubject } from "./seen-blocks.ts";
import type { LimiterCount, UsageRow } from "./steps.ts";
import { hashSubject, subjectKey, TopSubjects, writeSubject } from "./top-subjects.ts";

/** When a process sends what it has counted, in milliseconds, to each of which up to a quarter is added. */
interface UsageTimes {
  /** How often it sends numbers. */
  every: number;
  /** How old the subjects of a limiter are when they go with them. */
  subjectsEvery: number;
}

/** One for all copies of this package, so that a test can set other times. */
export const usageTimes: () => UsageTimes = processPart("usageTimes", () => ({
  every: 4_000,
  subjectsEvery: 25_000,
}));

/** So many limits of a limiter are counted each by itself, also by days.lua. */
const MOST_LIMITS = 64;

/** Denials that no limit has: those by a block, whoever set it, and those by limits that are more. Names of limits have a space. */
export const BY_BLOCK = "block";
export const BY_MORE = "more";

/** A limiter's name in keys. */
export function limiterId(name: string): string {
  return hashSubject(name);
}

/** Notes a block that lasts so many milliseconds more. */
export type NoteBlock = (blocked: BlockedSubject, restMs: number) => void;

/** What this process has counted of a limiter, and not sent yet. */
export class LimiterUsage {
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
  /** When its subjects are to be sent, in microseconds. */
  #due = Number.NEGATIVE_INFINITY;

  /**
   * Without `subjects` it is of all limiters that have none of their own, and knows no subject. `capacity` is how many subjects a
   * list counts at least; `onBlock` is told of each denial by a block.
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

  /** Whether there is nothing to be sent. */
  get isEmpty(): boolean {
    return this.rows + this.#allowed + this.#denied + this.#used.size === 0;
  }

  /**
   * Whether its subjects are to be sent, at a time in microseconds. Limiters that started together, that could not send for long, or
   * whose clock was set, take turns.
   */
  isDue(now: number): boolean {
    if (this.#used.size === 0) return false;
    if (!this.isOpen) return true;
    const every = usageTimes().subjectsEvery * 1_000;
    if (Math.abs(now - this.#due) > 2 * every) this.#due = now + every * Math.random();
    return now >= this.#due;
  }

  /** Counts a decision about subjects, by dimension. A denial is only of those subjects whose limits denied. */
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
      // Only of a limit for all together is the subject not named.
      const subject = dimension === GLOBAL_DIMENSION ? EVERYBODY : subjects[dimension];
      if (subject === undefined) continue;
      this.#refused.add(subjectKey(dimension, subject));
      if (blocked) this.#noteBlock(dimension, subject, limits);
    }
  }

  /** Which dimension is blocked is not known: a reader looks at the counters of each that denied. */
  #noteBlock(dimension: string, subject: string, limits: Decision["limits"]): void {
    const denying = limits.filter(({ allowed, per }) => !allowed && per === dimension);
    const rests = denying.map(({ retryAfterMs, resetAfterMs }) =>
      Number.isFinite(retryAfterMs) ? retryAfterMs : resetAfterMs,
    );
    const subjects = this.#subjects ?? "hashed";
    this.#onBlock({ limiter: this.#name, dimension, subject, subjects }, Math.max(...rests));
  }

  /** Counts a denial for the limit with the longest wait, so that each counts once. */
  #noteLimit(name: string): void {
    const isRoom = this.#limits.size < MOST_LIMITS || this.#limits.has(name);
    const key = isRoom ? name : BY_MORE;
    this.#limits.set(key, (this.#limits.get(key) ?? 0) + 1);
  }

  /** Puts what was counted since the last time into a row, of a moment in microseconds. */
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

  /** Adds up the rows of each so many microseconds. */
  thin(span: number): void {
    const bySpan = new Map<number, UsageRow>();
    for (const row of this.#rows) {
      const key = Math.floor(row.at / span);
      const before = bySpan.get(key);
      bySpan.set(key, before === undefined ? row : joined(before, row));
    }
    this.#rows = [...bySpan.values()];
  }

  /** Takes so many rows at most. */
  takeRows(most: number): LimiterCount {
    const rows = this.#rows.splice(0, most);
    return { id: this.#id, name: this.#name, rows, used: "", denied: "", limits: "" };
  }

  /** Takes so many rows at most, and who asked, at a time in microseconds. */
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

/** How a limit is named in usage: dimensions have no spaces. */
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
