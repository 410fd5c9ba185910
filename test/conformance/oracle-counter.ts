import type { Limit } from "@headgate/core";
import type { Definition } from "./oracle-account.ts";
import { microsecondsOf } from "./oracle-definition.ts";

const DAY = 86_400_000_000n;

/** The longest duration there is. */
const LONGEST = 366n * DAY;

/** No window by the calendar lasts longer. */
const LONGEST_BY_CALENDAR: Readonly<Record<string, bigint>> = {
  day: 2n * DAY,
  week: 8n * DAY,
  month: 32n * DAY,
  year: LONGEST,
};

/** How a limit blocks; times are in microseconds. */
export interface Blocking {
  /** For how long, the first time, the next one, and so on; the last of them repeats. */
  readonly spans: readonly bigint[];
  /** The level is forgotten when so long has passed without another block, and as long as the last one lasted. */
  readonly quiet: bigint;
}

/** How a limit blocks; undefined where it does not. */
export function blockingOf(limit: Limit, { window }: Definition): Blocking | undefined {
  if (limit.algorithm === "concurrency" || limit.block === undefined) return undefined;
  const spans = [limit.block].flat().map((span) => microsecondsOf(span));
  const written = limit.algorithm === "tokenBucket" ? limit.every : limit.window;
  const byCalendar = LONGEST_BY_CALENDAR[written];
  if (byCalendar !== undefined) return { spans, quiet: byCalendar };
  // It is told in milliseconds, rounded up.
  const inFull = ((window + 999n) / 1_000n) * 1_000n;
  const bounded = inFull < LONGEST ? inFull : LONGEST;
  return { spans, quiet: longer(microsecondsOf(written), bounded) };
}

/** The limits of one subject that are written together: whether they are blocked, and what can still be given back. */
export class OracleCounter {
  /** What was charged in another generation is not given back. */
  generation = 0;
  /** Until then everything is denied. */
  #ends = 0n;
  /** Which limit set the block, by its place in the policy; undefined where it was set by hand. */
  #setBy: number | undefined;
  /** Blocks of limits since the level was forgotten. */
  #level = 0;
  #levelEnds = 0n;

  get setBy(): number | undefined {
    return this.#setBy;
  }

  /** Microseconds for which it is blocked; 0 when it is not. */
  rest(now: bigint): bigint {
    return longer(this.#ends - now, 0n);
  }

  /** Limits have denied what fits them. Returns the one that blocks, by its place: the one that blocks for the longest. */
  deny(limits: ReadonlyMap<number, Blocking>, now: bigint): number | undefined {
    if (now >= this.#levelEnds) this.#level = 0;
    const spans = [...limits].map(([place, { spans, quiet }]) => ({
      place,
      quiet,
      span: spans[Math.min(this.#level, spans.length - 1)] as bigint,
    }));
    const [first] = spans.toSorted((a, b) => (a.span > b.span ? -1 : 1));
    if (first === undefined) return undefined;
    this.#ends = now + first.span;
    this.#setBy = first.place;
    this.#level += 1;
    this.#levelEnds = longer(this.#levelEnds, this.#ends + longer(first.span, first.quiet));
    this.generation += 1;
    return first.place;
  }

  /** A block by hand makes none shorter that is there. */
  block(span: bigint, now: bigint): void {
    this.#ends = longer(this.#ends, now + span);
    this.#setBy = undefined;
  }

  /** True if it was blocked. The level stays. */
  unblock(now: bigint): boolean {
    const wasBlocked = this.rest(now) > 0n;
    this.#ends = 0n;
    return wasBlocked;
  }

  /** Forgets all but a block by hand. */
  reset(): void {
    this.generation += 1;
    this.#level = 0;
    this.#levelEnds = 0n;
    if (this.#setBy !== undefined) this.#ends = 0n;
  }
}

function longer(one: bigint, other: bigint): bigint {
  return one > other ? one : other;
}
