import { escapePart, escapeSubject } from "../../base/key.ts";
import type { UsageSubjects } from "../../store/store.ts";

/** So many blocks wait to be sent at most, and so many that were sent are remembered. */
const MOST = 1_000;

/** So many go in one call. */
const TOGETHER = 256;

/** After so many microseconds a block that is still met is sent again: it may last longer, or the list may be gone. */
const AGAIN = 600_000_000;

/** The longest block, in microseconds: 366 days. */
const LONGEST = 31_622_400_000_000;

/** A block as a line names it behind its time. */
export interface BlockedSubject {
  readonly limiter: string;
  readonly dimension: string;
  readonly subject: string;
  readonly subjects: UsageSubjects;
}

/**
 * Writes who is blocked, with the parts of the counter's key, which says as much for as long: so a reader can look at the counter.
 * The letter in front of the subject is `h` where usage has subjects as hashes, else `p`.
 */
export function writeBlocked({ limiter, dimension, subject, subjects }: BlockedSubject): string {
  const letter = subjects === "plain" ? "p" : "h";
  return `${escapePart(limiter)} ${dimension} ${letter}${escapeSubject(subject)}`;
}

/** The blocks that denied requests of this process, as far as they were not sent yet. */
export class SeenBlocks {
  /** When each ends, in microseconds since the epoch. */
  readonly #waiting = new Map<string, number>();
  /** When each was sent. */
  readonly #sent = new Map<string, number>();

  /** How many wait to be sent. */
  get size(): number {
    return this.#waiting.size;
  }

  /** Notes a block that lasts `rest` microseconds from `now` on. */
  note(blocked: BlockedSubject, now: number, rest: number): void {
    const who = writeBlocked(blocked);
    const sent = this.#sent.get(who);
    if (sent !== undefined && Math.abs(now - sent) < AGAIN) return;
    if (this.#waiting.size < MOST) this.#waiting.set(who, now + Math.min(rest, LONGEST));
  }

  /** Takes some of those that wait, as blocks.lua reads them; the server's clock is `ahead` microseconds of this process's. */
  take(now: number, ahead: number): string {
    const taken = [...this.#waiting].slice(0, TOGETHER);
    if (this.#sent.size + taken.length > MOST) this.#sent.clear();
    for (const [who] of taken) {
      this.#waiting.delete(who);
      this.#sent.set(who, now);
    }
    return taken.map(([who, ends]) => `${Math.ceil((ends + ahead) / 1_000_000)} ${who}`).join("\n");
  }
}
