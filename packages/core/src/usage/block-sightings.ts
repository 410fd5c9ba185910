import { escapePart, escapeSubject } from "../common/key.ts";
import type { UsageSubjects } from "../store/store.ts";
import type { BlockEntry } from "./operations.ts";

/** How many blocks may wait to be sent, and how many sent ones are remembered. */
const MAX_BLOCKS = 1_000;

/** The largest number of blocks in one call. */
const BATCH_SIZE = 256;

/** After this many microseconds, a block that is still encountered is sent again: it may last longer, or the list may be gone. */
const RESEND_AFTER_MICROS = 600_000_000;

/** A block that ends this many microseconds later than it did when it was sent is sent again at once. */
const EXTENDED_BY_MICROS = 1_000_000;

/** The longest block, in microseconds: 366 days. */
const MAX_BLOCK_MICROS = 31_622_400_000_000;

/** A block as the sorted set names it. */
export interface BlockedSubject {
  readonly limiter: string;
  readonly dimension: string;
  readonly subject: string;
  readonly subjects: UsageSubjects;
  /** The reason for which it was set, if one was given. */
  readonly reason?: string | undefined;
}

/**
 * Writes the blocked subject with the parts of the counter's key, so that a reader can look at the counter. The letter before
 * the subject is `h` if usage stores subjects as hashes, otherwise `p`. A reason follows, percent-encoded.
 */
export function formatBlockedSubject({
  limiter,
  dimension,
  subject,
  subjects,
  reason,
}: BlockedSubject): string {
  const letter = subjects === "plain" ? "p" : "h";
  const named = `${escapePart(limiter)} ${dimension} ${letter}${escapeSubject(subject)}`;
  return reason === undefined ? named : `${named} ${encodeURIComponent(reason.toWellFormed())}`;
}

/** The blocks that denied requests of this process and have not been sent yet. */
export class BlockSightings {
  /** When each ends, in microseconds since the epoch. */
  readonly #waiting = new Map<string, number>();
  /** When each was sent, and when it ended then. */
  readonly #sent = new Map<string, { readonly at: number; readonly ends: number }>();

  /** How many wait to be sent. */
  get size(): number {
    return this.#waiting.size;
  }

  /** Records a block that lasts `rest` microseconds from `now` on. */
  record(blocked: BlockedSubject, now: number, rest: number): void {
    const blockedSubject = formatBlockedSubject(blocked);
    const sent = this.#sent.get(blockedSubject);
    const ends = now + Math.min(rest, MAX_BLOCK_MICROS);
    if (
      sent !== undefined &&
      Math.abs(now - sent.at) < RESEND_AFTER_MICROS &&
      ends < sent.ends + EXTENDED_BY_MICROS
    ) {
      return;
    }
    if (this.#waiting.size < MAX_BLOCKS) this.#waiting.set(blockedSubject, ends);
  }

  /** Takes some of the waiting ones; the server's clock is `ahead` microseconds of this process's. */
  takeBatch(now: number, ahead: number): readonly BlockEntry[] {
    const taken = [...this.#waiting].slice(0, BATCH_SIZE);
    if (this.#sent.size + taken.length > MAX_BLOCKS) this.#sent.clear();
    for (const [who, ends] of taken) {
      this.#waiting.delete(who);
      this.#sent.set(who, { at: now, ends });
    }
    return taken.map(([who, ends]) => [Math.ceil((ends + ahead) / 1_000_000), who]);
  }
}
