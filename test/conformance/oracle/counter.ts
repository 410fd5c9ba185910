import type { Duration, Limit } from "@headgate/core";
import type { Definition } from "./account.ts";
import { microsecondsOf } from "./definition.ts";

const DAY = 86_400_000_000n;

/** The longest duration that options accept. */
const LONGEST = 366n * DAY;

/** No calendar window is longer than this. */
const LONGEST_BY_CALENDAR: Readonly<Record<string, bigint>> = {
  day: 2n * DAY,
  week: 8n * DAY,
  month: 32n * DAY,
  year: LONGEST,
};

type Block = NonNullable<Exclude<Limit, { algorithm: "concurrency" }>["block"]>;

/** How a limit blocks; times are in microseconds. */
export interface Blocking {
  /** The lengths of the first block, the next one, and so on; the last one repeats. */
  readonly spans: readonly bigint[];
  /** The level is reset after this long without another block, but no sooner than the length of the last block. */
  readonly quiet: bigint;
  /** The number of denials, within `quiet` of the first one, that sets a block. */
  readonly after: number;
}

/** The denials of a limit that count towards a block. */
interface Denials {
  readonly count: number;
  readonly until: bigint;
}

/** The blocking rule of a limit, if it has one. */
export function blockingOf(limit: Limit, { window }: Definition): Blocking | undefined {
  if (limit.algorithm === "concurrency" || limit.block === undefined) return undefined;
  const { after, lengths } = afterDenials(limit.block);
  const spans = [lengths].flat().map((span) => microsecondsOf(span));
  const written = limit.algorithm === "tokenBucket" ? limit.every : limit.window;
  const byCalendar = LONGEST_BY_CALENDAR[written];
  if (byCalendar !== undefined) return { spans, quiet: byCalendar, after };
  // The product uses the window in milliseconds, rounded up.
  const inFull = ((window + 999n) / 1_000n) * 1_000n;
  const bounded = inFull < LONGEST ? inFull : LONGEST;
  return { spans, quiet: laterOf(microsecondsOf(written), bounded), after };
}

function afterDenials(block: Block): { after: number; lengths: Duration | readonly Duration[] } {
  if (typeof block !== "object" || !("after" in block)) return { after: 1, lengths: block };
  return { after: block.after, lengths: block.for };
}

/** The state that the limits of one counter share: its block, its denials and its generation. */
export class OracleCounter {
  /** A charge of an earlier generation cannot be refunded. */
  generation = 0;
  /** The end of the block, in microseconds. */
  #blockedUntil = 0n;
  /** The index of the limit that set the block; undefined for a manual block. */
  #setBy: number | undefined;
  /** The number of blocks by limits since the level was reset. */
  #level = 0;
  #levelEnds = 0n;
  /** Denials by the index of the limit in the policy. */
  readonly #denials = new Map<number, Denials>();

  get setBy(): number | undefined {
    return this.#setBy;
  }

  /** Microseconds until the block ends; 0 without a block. */
  blockedFor(now: bigint): bigint {
    return laterOf(this.#blockedUntil - now, 0n);
  }

  /**
   * Records that limits denied a cost that fits them. Of the limits with enough denials, the one with the longest block sets it.
   * Returns its index, if there is one.
   */
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

  /** Sets a manual block, which never shortens an existing block. */
  block(span: bigint, now: bigint): void {
    this.#blockedUntil = laterOf(this.#blockedUntil, now + span);
    this.#setBy = undefined;
  }

  /** Ends the block and keeps the level. Returns whether there was a block. */
  unblock(now: bigint): boolean {
    const wasBlocked = this.blockedFor(now) > 0n;
    this.#blockedUntil = 0n;
    return wasBlocked;
  }

  /** Resets all state except a manual block. */
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
