/**
 * Checks that a model admits no more units than the limit guarantees plus those held in leases at the beginning of the interval, for
 * every interval from a time at which `see` was called until now. Its state is a few numbers, so that models can be compared.
 */
export interface GuaranteeMonitor {
  begin(): number[];
  /** Advances the clock by one tick, to `now`. */
  tick(state: number[], now: number): void;
  /** Lets intervals begin now, with this many units held in leases. */
  see(state: number[], held: number): void;
  /** Admits units of the window that ends at `windowEnd`. Returns false if they exceed the guarantee. */
  admit(state: number[], units: number, windowEnd: number, now: number): boolean;
}

/** At most `burst + refill * t / every` in any time t; `every` is in ticks. */
export function monitorRate(burst: number, refill: number, every: number): GuaranteeMonitor {
  return {
    // The maximum over all intervals of the units admitted, less those refilled and those held, in units / every.
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

/** At most `most` units in any period of `ticks` ticks. */
export function monitorWindow(most: number, ticks: number): GuaranteeMonitor {
  return {
    // For each tick, the newest first, the maximum over all intervals that began in it.
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

/** At most `most` units in each window, whatever leases hold, and none in a window that has ended. */
export function monitorEachWindow(most: number): GuaranteeMonitor {
  return {
    // The end of the window, and the units admitted in it.
    begin: () => [0, 0],
    tick(state, now) {
      if (now >= (state[0] as number)) state.fill(0);
    },
    see() {},
    admit(state, units, windowEnd, now) {
      if (state[0] !== windowEnd) {
        state[0] = windowEnd;
        state[1] = 0;
      }
      state[1] = (state[1] as number) + units;
      return now < windowEnd && state[1] <= most;
    },
  };
}
