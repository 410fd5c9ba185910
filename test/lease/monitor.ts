/**
 * Watches what is admitted in a world, and says when it was more than the limit guarantees, and what was held in leases when
 * the interval began: for every interval from any moment that was seen to now. A state is a few numbers.
 */
export interface Monitor {
  begin(): number[];
  /** A tick passes, and it is `now`. */
  tick(state: number[], now: number): void;
  /** Intervals may begin now, with so many units held. */
  see(state: number[], held: number): void;
  /** Units are admitted, of a window that ends at `ends`. False when that was too much. */
  admit(state: number[], units: number, ends: number, now: number): boolean;
}

/** At most `burst + refill * t / every` in any time t; `every` is in ticks. */
export function watchRate(burst: number, refill: number, every: number): Monitor {
  return {
    // The most, of all intervals, that was admitted beyond what came back and what was held, in units / every.
    begin: () => [0],
    tick(state) {
      state[0] = (state[0] as number) - refill;
    },
    see(state, held) {
      state[0] = Math.max(state[0] as number, -held * every);
    },
    admit(state, units) {
      state[0] = (state[0] as number) + units * every;
      return state[0] <= burst * every;
    },
  };
}

/** At most so many in any time of so many ticks. */
export function watchWindow(most: number, ticks: number): Monitor {
  return {
    // For each tick, the newest first, the most of all intervals that began in it.
    begin: () => new Array<number>(ticks).fill(Number.NEGATIVE_INFINITY),
    tick(state) {
      state.pop();
      state.unshift(Number.NEGATIVE_INFINITY);
    },
    see(state, held) {
      state[0] = Math.max(state[0] as number, -held);
    },
    admit(state, units) {
      for (let i = 0; i < state.length; i += 1) state[i] = (state[i] as number) + units;
      return state.every((admitted) => admitted <= most);
    },
  };
}

/** At most so many in each window, whatever was held; nothing in a window that is over. */
export function watchEachWindow(most: number): Monitor {
  return {
    // When the window ends, and what was admitted in it.
    begin: () => [0, 0],
    tick(state, now) {
      if (now >= (state[0] as number)) state.fill(0);
    },
    see() {},
    admit(state, units, ends, now) {
      if (state[0] !== ends) {
        state[0] = ends;
        state[1] = 0;
      }
      state[1] = (state[1] as number) + units;
      return now < ends && state[1] <= most;
    },
  };
}
