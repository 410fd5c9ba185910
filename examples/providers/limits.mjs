// The two kinds of limits that providers have: windows that begin anew, and buckets that leak.

/**
 * What became of a request.
 * @typedef {object} Count
 * @property {boolean} isTaken
 * @property {number} remaining Units left.
 * @property {number} waitMs Until the request would be taken; 0 if it was.
 * @property {number} resetMs Until all units are back.
 */

/** At most `limit` units in each window, which begins with its first request. Windows end on a whole second, as providers write it. */
export class Windows {
  /** @type {Map<string, { endsAt: number, used: number }>} */
  #windows = new Map();

  /** @param {number} limit @param {number} windowMs A window may be up to a second longer. */
  constructor(limit, windowMs) {
    /** May change at any time. */
    this.limit = limit;
    this.windowMs = windowMs;
  }

  /**
   * Takes units, or none if fewer are left.
   * @param {string} key @param {number} units @param {number} now @returns {Count}
   */
  take(key, units, now) {
    let window = this.#windows.get(key);
    if (window === undefined || window.endsAt <= now) {
      window = { endsAt: Math.ceil((now + this.windowMs) / 1_000) * 1_000, used: 0 };
      this.#windows.set(key, window);
    }
    const isTaken = window.used + units <= this.limit;
    if (isTaken) window.used += units;
    const resetMs = window.endsAt - now;
    const remaining = Math.max(0, this.limit - window.used);
    return { isTaken, remaining, waitMs: isTaken ? 0 : resetMs, resetMs };
  }
}

/** Buckets that hold `size` units, and get `perSecond` of them back. */
export class Buckets {
  /** @type {Map<string, { used: number, at: number }>} */
  #buckets = new Map();

  /** @param {number} size @param {number} perSecond */
  constructor(size, perSecond) {
    /** May change at any time, as `perSecond`. */
    this.size = size;
    this.perSecond = perSecond;
  }

  /**
   * Takes units, or none if fewer are left. A negative number gives units back.
   * @param {string} key @param {number} units @param {number} now @returns {Count}
   */
  take(key, units, now) {
    const bucket = this.#buckets.get(key) ?? { used: 0, at: now };
    const leaked = ((now - bucket.at) / 1_000) * this.perSecond;
    let used = Math.max(0, bucket.used - leaked);
    const isTaken = used + units <= this.size;
    const missing = used + units - this.size;
    if (isTaken) used = Math.max(0, used + units);
    this.#buckets.set(key, { used, at: now });
    return {
      isTaken,
      remaining: Math.max(0, this.size - used),
      waitMs: isTaken ? 0 : (missing / this.perSecond) * 1_000,
      resetMs: (used / this.perSecond) * 1_000,
    };
  }
}
