import type { Duration, Limit } from "@headgate/core";
import type { Definition } from "./account.ts";
import { microsecondsOf } from "./definition.ts";

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

type Block = NonNullable<Exclude<Limit, { algorithm: "concurrency" }>["block"]>;

/** How a limit blocks; times are in microseconds. */
export interface Blocking {
  /** For how long, the first time, the next one, and so on; the last of them repeats. */
  readonly spans: readonly bigint[];
  /** The level is forgotten when so long has passed without another block, and as long as the last one lasted. */
  readonly quiet: bigint;
  /** How many denials set a block, within `quiet` of the first of them. */
  readonly after: number;
}

/** The denials of a limit that are not forgotten. */
interface Denials {
  readonly count: number;
  readonly until: bigint;
}

/** How a limit blocks; undefined where it does not. */
export function blockingOf(limit: Limit, { window }: Definition): Blocking | undefined {
  if (limit.algorithm === "concurrency" || limit.block === undefined) return undefined;
  const { after, lengths } = afterDenials(limit.block);
  const spans = [lengths].flat().map((span) => microsecondsOf(span));
  const written = limit.algorithm === "tokenBucket" ? limit.every : limit.window;
  const byCalendar = LONGEST_BY_CALENDAR[written];
  if (byCalendar !== undefined) return { spans, quiet: byCalendar, after };
  // It is told in milliseconds, rounded up.
  const inFull = ((window + 999n) / 1_000n) * 1_000n;
  const bounded = inFull < LONGEST ? inFull : LONGEST;
  return { spans, quiet: laterOf(microsecondsOf(written), bounded), after };
}

function afterDenials(block: Block): { after: number; lengths: Duration | readonly Duration[] } {
  if (typeof block !== "object" || !("after" in block)) return { after: 1, lengths: block };
  return { after: block.after, lengths: block.for };
}

/** The limits of one subject that are written together: whether they are blocked, and what can still be given back. */
export class OracleCounter {
  /** What was charged in another generation is not given back. */
  generation = 0;
  /** Until then everything is denied. */
  #blockedUntil = 0n;
  /** Which limit set the block, by its index in the policy; undefined where it was set by hand. */
  #setBy: number | undefined;
  /** Blocks of limits since the level was forgotten. */
  #level = 0;
  #levelEnds = 0n;
  /** By the places of the limits in the policy. */
  readonly #denials = new Map<number, Denials>();

  get setBy(): number | undefined {
    return this.#setBy;
  }

  /** Microseconds for which it is blocked; 0 when it is not. */
  blockedFor(now: bigint): bigint {
    return laterOf(this.#blockedUntil - now, 0n);
  }

  /** Limits have denied what fits them. Returns the one that blocks, by its index: of those that were denied often enough, the one that blocks for the longest. */
  recordDenials(limits: ReadonlyMap<number, Blocking>, now: bigint): number | undefined {
    if (now >= this.#levelEnds) this.#level = 0;
    const reached = [...limits].filter(
      ([index, rule]) => this.#countDenial(index, rule, now) >= rule.after,
    );
    const spans = reached.map(([index, { spans, quiet }]) => ({
      index,
      quiet,
      span: spans[Math.min(this.#level, spans.length - 1)] as bigint,
    }));
    const [first] = spans.toSorted((a, b) => (a.span > b.span ? -1 : 1));
    if (first === undefined) return undefined;
    this.#blockedUntil = now + first.span;
    this.#setBy = first.index;
    this.#level += 1;
    this.#levelEnds = laterOf(
      this.#levelEnds,
      this.#blockedUntil + laterOf(first.span, first.quiet),
    );
    this.generation += 1;
    this.#denials.delete(first.index);
    return first.index;
  }

  #countDenial(index: number, { quiet }: Blocking, now: bigint): number {
    const before = this.#denials.get(index);
    const isForgotten = before === undefined || now >= before.until;
    const { count, until } = isForgotten ? { count: 0, until: now + quiet } : before;
    this.#denials.set(index, { count: count + 1, until });
    return count + 1;
  }

  /** A block by hand makes none shorter that is there. */
  block(span: bigint, now: bigint): void {
    this.#blockedUntil = laterOf(this.#blockedUntil, now + span);
    this.#setBy = undefined;
  }

  /** True if it was blocked. The level stays. */
  unblock(now: bigint): boolean {
    const wasBlocked = this.blockedFor(now) > 0n;
    this.#blockedUntil = 0n;
    return wasBlocked;
  }

  /** Forgets all but a block by hand. */
  reset(): void {
    this.generation += 1;
    this.#level = 0;
    this.#levelEnds = 0n;
    this.#denials.clear();
    if (this.#setBy !== undefined) this.#blockedUntil = 0n;
  }
}

function laterOf(one: bigint, other: bigint): bigint {
  return one > other ? one : other;
}
