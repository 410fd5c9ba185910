/** The most subjects that are remembered. */
const MAX_SUBJECTS = 1_000;

/** Usage is halved after each of these. */
const HALF_LIFE_MS = 1_000;

/** How many times its fair share makes a subject heavy. */
const HEAVY_SHARES = 3;

/** The part of all handler time above which a subject is heavy, however few there are: three fair shares of two are more than all. */
const HEAVY_PART = 0.75;

/** Below this no subject is heavy, in milliseconds: a few requests say little. */
const LEAST_HEAVY_MS = 20;

/** How much handler time each subject has used lately. */
export class SubjectUsage {
  /** Milliseconds by subject; the one that was charged last is the last. */
  readonly #used = new Map<string, number>();
  #total = 0;
  #halvedAt: number;

  constructor(now: number) {
    this.#halvedAt = now;
  }

  charge(subject: string, ms: number, now: number): void {
    this.#decay(now);
    const used = this.#used.get(subject);
    // A subject that goes on using the server stays, however many others pass by.
    if (used !== undefined) this.#used.delete(subject);
    else if (this.#used.size >= MAX_SUBJECTS) this.#forgetOldest();
    this.#used.set(subject, (used ?? 0) + ms);
    this.#total += ms;
  }

  /**
   * Whether a subject has used over three times its fair share, which is the time of all subjects divided by their number. With
   * two to four subjects, over three quarters of that time.
   */
  isHeavy(subject: string, now: number): boolean {
    this.#decay(now);
    const used = this.#used.get(subject);
    if (used === undefined || used <= LEAST_HEAVY_MS) return false;
    const subjects = this.#used.size;
    // A subject that is alone has nobody to leave room for.
    return subjects > 1 && used > Math.min(HEAVY_SHARES / subjects, HEAVY_PART) * this.#total;
  }

  #decay(now: number): void {
    const halvings = Math.floor((now - this.#halvedAt) / HALF_LIFE_MS);
    if (halvings < 1) return;
    this.#halvedAt += halvings * HALF_LIFE_MS;
    this.#total = 0;
    for (const [subject, used] of this.#used) {
      const left = used * 0.5 ** halvings;
      if (left < 0.5) this.#used.delete(subject);
      else {
        this.#used.set(subject, left);
        this.#total += left;
      }
    }
  }

  #forgetOldest(): void {
    const [[subject, used]] = this.#used as unknown as [[string, number]];
    this.#used.delete(subject);
    this.#total -= used;
  }
}
