import { escapeSubject } from "../base/key.ts";

/** So many keys are kept at most. */
const KEPT = 2_000;

/** After so many that were not, they are those of other subjects: to keep each that comes would cost more than it saves. */
const MISSED = 10_000;

/**
 * The keys of subjects: a prefix, the subject, a suffix. Those of late are kept, because to put a key together, to hash it and
 * to compare it takes as long as a decision.
 */
export class SubjectKeys {
  readonly #prefix: string;
  readonly #suffix: string;
  readonly #kept = new Map<string, string>();
  #missed = 0;

  constructor(prefix: string, suffix: string) {
    this.#prefix = prefix;
    this.#suffix = suffix;
  }

  of(subject: string): string {
    return this.#kept.get(subject) ?? this.#make(subject);
  }

  #make(subject: string): string {
    const escaped = escapeSubject(subject);
    const key = this.#prefix + escaped + this.#suffix;
    if (escaped !== subject) return key;
    this.#missed += 1;
    if (this.#missed > MISSED) this.#forget();
    if (this.#kept.size >= KEPT) return key;
    // By a piece of the key: the subject may be a piece of a far larger text, which would be kept with it.
    this.#kept.set(key.slice(this.#prefix.length, -this.#suffix.length), key);
    return key;
  }

  #forget(): void {
    this.#kept.clear();
    this.#missed = 0;
  }
}
