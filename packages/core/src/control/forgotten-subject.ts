import { fingerprint } from "../common/key.ts";

type Subject = Readonly<Record<string, string>>;

/**
 * How many characters of the hash of a forgotten subject are kept, with 6 bits each. Enough for somebody who knows the subject to
 * recognise it, but shared by 256 IPv4 addresses, so that the address cannot be recovered.
 */
const HASH_CHARACTERS = 4;

/** The subject to forget, by dimension, in any limiter. */
export class ForgottenSubject {
  readonly #subject: Subject;

  constructor(subject: Subject) {
    this.#subject = subject;
  }

  /** Whether a subject has the value to forget in at least one dimension. */
  matches(subject: Subject | undefined): boolean {
    return Object.entries(subject ?? {}).some((one) => this.#isForgotten(one));
  }

  /** A copy of a subject with a mark instead of the value to forget. */
  redact(subject: Subject): Subject {
    const hidden = Object.entries(subject).map(([dimension, text]) => [
      dimension,
      this.#isForgotten([dimension, text]) ? redactValue(text) : text,
    ]);
    return Object.fromEntries(hidden) as Subject;
  }

  #isForgotten([dimension, text]: readonly [string, string]): boolean {
    return Object.hasOwn(this.#subject, dimension) && this.#subject[dimension] === text;
  }
}

function redactValue(text: string): string {
  return `~forgotten~${fingerprint(text).slice(0, HASH_CHARACTERS)}`;
}
