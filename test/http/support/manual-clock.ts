/** A clock that tests move: milliseconds since the epoch. */
export interface ManualClock {
  readonly now: () => number;
  advance(milliseconds: number): void;
}

/** A whole minute, so that windows aligned to the epoch begin where the test does. */
const START = 1_800_000_000_000;

export function manualClock(): ManualClock {
  let now = START;
  return {
    now: () => now,
    advance(milliseconds) {
      now += milliseconds;
    },
  };
}
