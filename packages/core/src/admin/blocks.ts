import { escapePart, escapeSubject } from "../common/key.ts";
import { isPlainObject } from "../common/type-guards.ts";
import type { ActionLog } from "../control/log-entry.ts";
import type { UnreadableRecord } from "./admin-source.ts";

/** A block in force. */
export interface ActiveBlock {
  readonly limiter: string;
  readonly dimension: string;
  /** The subject in plain text; its hash if usage stores hashes and no operator named it. */
  readonly subject?: string | undefined;
  readonly hash?: string | undefined;
  /** The name of the limit that set it; missing if it was set by hand. */
  readonly limit?: string | undefined;
  /** When it ends: milliseconds since the epoch, by the server's clock. */
  readonly until: number;
  /** Whether the limiter is in shadow mode in all processes, so that the block denies no request. */
  readonly shadow: boolean;
  /** For a block by hand in the log: when it was set, in milliseconds since the epoch, and by which operator. */
  readonly setAt?: number | undefined;
  readonly by?: string | undefined;
  /** For a block by hand: the reason that the operator, or the application, gave. */
  readonly reason?: string | undefined;
}

/** The blocks in force of a prefix. */
export interface ActiveBlocks {
  /** The server's clock, in milliseconds since the epoch. */
  readonly at: number;
  /** Blocks set by hand, and others that have denied a request since they were set; the longest-lasting first. */
  readonly blocks: readonly ActiveBlock[];
  /** Whether the list had room for all; it holds at most 1,000. */
  readonly isComplete: boolean;
  /** How many listed blocks could not be checked, because no process lists the limits of the limiter. */
  readonly uncheckedCount: number;
  /** The records that could not be read; if there are any, the rest may be incomplete. */
  readonly unreadable: readonly UnreadableRecord[];
}

/** A block that processes have encountered. */
export interface StoredBlock {
  /** The limiter's name, and the subject, as parts of a key. */
  readonly limiter: string;
  readonly dimension: string;
  readonly part: string;
  /** Whether usage stores its subject as a hash. */
  readonly isHashed: boolean;
  /** The second in which it ends. */
  readonly ends: number;
  /** The reason that an application gave for it. */
  readonly reason?: string | undefined;
}

/** A subject that may be blocked. */
export interface BlockCandidate {
  readonly limiter: string;
  readonly dimension: string;
  /** The subject as a part of a key. */
  readonly part: string;
  /** Whether only its hash may be shown. */
  readonly isHashed: boolean;
  /** Those of its blocks by hand that gave a reason or are in the log. */
  readonly origins: readonly BlockOrigin[];
}

/** Who set a block by hand that was to end at a time, in milliseconds since the epoch, and why. */
interface BlockOrigin extends Pick<ActiveBlock, "setAt" | "by" | "reason"> {
  readonly ends: number;
}

/** Subjects that may be blocked by the named limiters, and how many listed ones belong to others. */
interface BlockCandidates {
  readonly candidates: readonly BlockCandidate[];
  readonly unknown: number;
}

/** Merges what is known of subjects: one that an operator has named need not be shown as a hash. */
export function collectBlockCandidates(
  listed: readonly StoredBlock[],
  { entries }: ActionLog,
  names: readonly string[],
): BlockCandidates {
  const candidates = new Map<string, BlockCandidate>();
  function add(candidate: BlockCandidate): void {
    const { limiter, dimension, part, isHashed, origins } = candidate;
    const id = JSON.stringify([limiter, dimension, part]);
    const known = candidates.get(id);
    candidates.set(id, {
      ...candidate,
      isHashed: isHashed && (known?.isHashed ?? true),
      origins: [...(known?.origins ?? []), ...origins],
    });
  }
  const byPart = new Map(names.map((name) => [escapePart(name), name]));
  let unknown = 0;
  for (const { limiter, dimension, part, isHashed, ends, reason } of listed) {
    const name = byPart.get(limiter);
    const origins = reason === undefined ? [] : [{ ends: ends * 1_000, reason }];
    if (name === undefined) unknown += 1;
    else add({ limiter: name, dimension, part, isHashed, origins });
  }
  for (const { kind, limiter, subject, at, by, reason, before, after } of entries) {
    if (kind !== "block" || limiter === undefined || !names.includes(limiter)) continue;
    const setAt = at.getTime();
    for (const [dimension, text] of Object.entries(subject ?? {})) {
      const rest = manualBlockMs(after, dimension);
      // A block that lasted longer before is not the operator's.
      const isSet = rest > manualBlockMs(before, dimension);
      const origin = {
        ends: setAt + rest,
        setAt,
        ...(by === undefined ? {} : { by }),
        ...(reason === undefined ? {} : { reason }),
      };
      const origins = isSet ? [origin] : [];
      add({ limiter, dimension, part: escapeSubject(text), isHashed: false, origins });
    }
  }
  return { candidates: [...candidates.values()], unknown };
}

/** The milliseconds for which a logged state says that a dimension is blocked by hand; 0 if it does not. */
function manualBlockMs(state: unknown, dimension: string): number {
  const blocks = isPlainObject(state) ? state["blocks"] : undefined;
  const own = (Array.isArray(blocks) ? blocks : [])
    .filter(isPlainObject)
    .filter(({ per, limit }) => per === dimension && limit === undefined);
  return Math.max(0, ...own.map(({ endsInMs }) => Number(endsInMs)));
}
