/** A response is useful to a client within this time. */
export const USEFUL_MS = 500;

/** Handlers that use the processor, by their name: the time of one request in milliseconds, by a number from 0 to 1. */
export const WORKLOADS = {
  "5 ms": { msOf: () => 5, pauseMs: 0 },
  // Nine of ten take less than 6 ms, one of a hundred over 36 ms.
  "1–100 ms": { msOf: (u) => Math.min(100, 1 / (1 - u) ** (1 / 1.3)), pauseMs: 0 },
  // As the collection of a large heap: each second.
  "5 ms, pauses": { msOf: () => 5, pauseMs: 60 },
};

/** A sequence of numbers from 0 to 1 that is the same in each run (mulberry32). */
export function createRandom(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
