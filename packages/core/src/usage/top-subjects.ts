import { createHash } from "node:crypto";
import { escapeSubject, unescapePart } from "../common/key.ts";
import type { SubjectList } from "./operations.ts";

/** Longer subjects are counted by their hash, so that a client cannot choose how much memory it takes. */
const MAX_PLAIN_CHARACTERS = 64;

/**
 * Longer members of a sorted set hold a hash, too: up to 64 bytes, and with the name of their set in front of them, Redis keeps
 * small sets and hashes packed.
 */
const MAX_MEMBER_CHARACTERS = 56;

/** The most subjects that are sent. */
const MAX_SENT = 64;

/** The requests of a subject: at most `count`, and at least `count - error`. `TopSubject.count` is the lower bound. */
interface SubjectCount {
  count: number;
  error: number;
}

/**
 * The most frequent subjects, by space-saving (Metwally, Agrawal, El Abbadi 2005), with one change: the list is cut now and
 * then, not at each new subject. A new subject may have been counted before, as often as the most frequent one that was ever cut. That
 * bound never exceeds the total divided by `capacity + 1`.
 */
export class TopSubjects {
  readonly #capacity: () => number;
  readonly #counts = new Map<string, SubjectCount>();
  /** The largest possible count of a subject outside the list. */
  #floor = 0;
  #total = 0;

  /** How many subjects are counted at least; twice as many at most. */
  constructor(capacity: () => number) {
    this.#capacity = capacity;
  }

  /** How many subjects are counted. */
  get size(): number {
    return this.#counts.size;
  }

  /** Counts one more request of a subject, in the form of `subjectKey`. */
  add(key: string): void {
    this.#total += 1;
    const known = this.#counts.get(key);
    if (known !== undefined) {
      known.count += 1;
      return;
    }
    this.#counts.set(key, { count: this.#floor + 1, error: this.#floor });
    const capacity = this.#capacity();
    if (this.#counts.size > 2 * capacity) this.#cut(capacity);
  }

  /** Takes the counts; empty if there are none. */
  take(write: (key: string) => string): SubjectList {
    if (this.#total === 0) return [];
    const sorted = this.#sorted();
    const missed = Math.max(this.#floor, sorted[MAX_SENT]?.[1].count ?? 0);
    const sent = sorted
      .slice(0, MAX_SENT)
      .flatMap(([key, { count, error }]) => [write(key), count, error]);
    const list = [missed, this.#total, ...sent];
    this.#counts.clear();
    this.#floor = 0;
    this.#total = 0;
    return list;
  }

  #sorted(): [key: string, counted: SubjectCount][] {
    return [...this.#counts].sort(([, one], [, other]) => other.count - one.count);
  }

  #cut(capacity: number): void {
    const sorted = this.#sorted();
    this.#floor = sorted[capacity]?.[1].count ?? this.#floor;
    for (const [key] of sorted.slice(capacity)) this.#counts.delete(key);
  }
}

/** The key under which a subject of a dimension is counted. Dimensions contain neither spaces nor number signs. */
export function subjectKey(dimension: string, subject: string): string {
  return subject.length > MAX_PLAIN_CHARACTERS
    ? `${dimension}#${hashSubject(subject)}`
    : `${dimension} ${subject}`;
}

/** The member of a sorted set for a subject with a key. */
export function formatMember(key: string, isPlain: boolean): string {
  const [sign = ""] = /[ #]/.exec(key) ?? [];
  const at = key.indexOf(sign);
  const dimension = key.slice(0, at);
  const rest = key.slice(at + 1);
  if (sign === "#") return key;
  const escaped = isPlain ? escapeSubject(rest) : "#";
  const plain = `${dimension} ${escaped}`;
  const isHashed = escaped.startsWith("#") || plain.length > MAX_MEMBER_CHARACTERS;
  return isHashed ? `${dimension}#${hashSubject(rest)}` : plain;
}

/** The subject of a member, plain or as a hash. Undefined if the member is invalid. */
export function parseMember(
  member: string,
): { dimension: string; subject: string } | { dimension: string; hash: string } | undefined {
  const [, dimension = "", hash, part = ""] =
    /^([\w.-]+)(?:#([\w-]{16})| (.+))$/.exec(member) ?? [];
  if (hash !== undefined) return { dimension, hash };
  const subject = unescapePart(part);
  return subject ? { dimension, subject } : undefined;
}

/** The members that a subject may have, under any setting: plain and hashed. */
export function membersOf(dimension: string, subject: string): readonly string[] {
  const plain = formatMember(subjectKey(dimension, subject), true);
  return [...new Set([plain, `${dimension}#${hashSubject(subject)}`])];
}

/** The hash that stands for a subject in usage: the first 96 bits of its SHA-256, in 16 characters. */
export function hashSubject(subject: string): string {
  return createHash("sha256").update(subject).digest("base64url").slice(0, 16);
}
