import { fingerprint } from "../../base/key.ts";

type Subject = Readonly<Record<string, string>>;

/**
 * So many characters of a hash, of 6 bits each, stay of a forgotten subject: enough for who knows it to recognise it, and shared by
 * 256 IPv4 addresses, so that none of them can be told from it.
 */
const KEPT = 4;

/** Who is to be forgotten, by dimension, in whichever limiter. */
export class ForgottenSubject {
  readonly #subject: Subject;

  constructor(subject: Subject) {
    this.#subject = subject;
  }

  /** Whether a subject is, in one dimension at least, the one to be forgotten. */
  isIn(subject: Subject | undefined): boolean {
    return Object.entries(subject ?? {}).some((one) => this.#is(one));
  }

  /** A subject with a mark in place of the one to be forgotten. */
  hideIn(subject: Subject): Subject {
    const hidden = Object.entries(subject).map(([dimension, text]) => [
      dimension,
      this.#is([dimension, text]) ? hide(text) : text,
    ]);
    return Object.fromEntries(hidden) as Subject;
  }

  #is([dimension, text]: readonly [string, string]): boolean {
    return Object.hasOwn(this.#subject, dimension) && this.#subject[dimension] === text;
  }
}

function hide(text: string): string {
  return `~forgotten~${fingerprint(text).slice(0, KEPT)}`;
}
