/** Seeded randomness: the same seed and stream give the same numbers. */
export class Random {
  #a: number;
  #b: number;

  constructor(seed: number, stream = 0) {
    this.#a = Math.imul(seed, 0x9e3779b1) ^ 0x243f6a88;
    this.#b = Math.imul(stream + 1, 0x85ebca6b) ^ Math.imul(seed, 0xc2b2ae35);
    // The first numbers of neighbouring streams are similar.
    for (let i = 0; i < 8; i++) this.#word();
  }

  /** A number from 0 to below 1, with 53 random bits. */
  fraction(): number {
    return ((this.#word() >>> 5) * 67_108_864 + (this.#word() >>> 6)) / 2 ** 53;
  }

  chance(probability: number): boolean {
    return this.fraction() < probability;
  }

  /** A whole number from `least` to `most`, both included. */
  whole(least: number, most: number): number {
    return least + Math.floor(this.fraction() * (most - least + 1));
  }

  /** A whole number from `least` (at least 1) to `most`, each order of magnitude as likely as any other. */
  magnitude(least: number, most: number): number {
    const value = Math.floor(least * (most / least) ** this.fraction());
    return Math.min(most, Math.max(least, value));
  }

  pick<T>(choices: readonly T[]): T {
    return choices[this.whole(0, choices.length - 1)] as T;
  }

  shuffle<T>(items: readonly T[]): T[] {
    const shuffled = [...items];
    for (let i = shuffled.length - 1; i > 0; i--) {
      const j = this.whole(0, i);
      [shuffled[i], shuffled[j]] = [shuffled[j] as T, shuffled[i] as T];
    }
    return shuffled;
  }

  /** 32 bits: two words of state, mixed by multiplication and shifts. */
  #word(): number {
    this.#a = (this.#a + 0x6d2b79f5) | 0;
    this.#b ^= this.#b << 13;
    this.#b ^= this.#b >>> 17;
    this.#b ^= this.#b << 5;
    let mixed = Math.imul(this.#a ^ (this.#a >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15) ^ this.#b, 0x735a2d97);
    return mixed ^ (mixed >>> 15);
  }
}
