/** How long calls may be answered in this process before the event loop turns, in milliseconds. */
const MAX_RUN_MS = 10;

/** The most calls between two readings of the clock: a reading takes a tenth of the time of a decision in memory. */
const MAX_CALLS_PER_READING = 16;

/** How often the clock is read in a run of `MAX_RUN_MS`, at least, once the duration of a call is known. */
const READINGS_PER_RUN = 8;

/** Returns the promise of a call, or one that settles in the next turn of the event loop if that is due. */
export type YieldToEventLoop = <T>(call: Promise<T>) => Promise<T>;

/**
 * A caller that awaits calls in a loop whose answers are known in this process only runs microtasks, so that no timer fires and no
 * socket is read. This watches all calls together, and lets the event loop turn after `MAX_RUN_MS`: the calls of all loops then
 * settle after the same macrotask. It is created once for the process, except in tests. `now` is in milliseconds;
 * `scheduleMacrotask` must keep the process alive until the callback, because a call waits for it.
 */
export function createYield(
  now: () => number,
  scheduleMacrotask: (callback: () => void) => unknown,
): YieldToEventLoop {
  let callsPerReading = 1;
  let callsLeft = callsPerReading;
  /** When the clock was first read since the event loop turned; undefined before. */
  let runStartedAt: number | undefined;
  let callsInRun = 0;
  /** The next turn, once it is due. */
  let nextTurn: Promise<void> | undefined;
  let resolveNextTurn: (() => void) | undefined;

  function endRun(): void {
    if (nextTurn === undefined) {
      callsPerReading = Math.min(MAX_CALLS_PER_READING, 2 * callsPerReading);
    }
    callsLeft = callsPerReading;
    runStartedAt = undefined;
    callsInRun = 0;
    nextTurn = undefined;
    resolveNextTurn?.();
  }

  /** Reads the clock. Whether the event loop has to turn before the next call settles. */
  function isTurnDue(): boolean {
    if (runStartedAt === undefined) {
      runStartedAt = now();
      scheduleMacrotask(endRun);
    } else {
      callsInRun += callsPerReading;
      const elapsed = now() - runStartedAt;
      if (elapsed >= MAX_RUN_MS) {
        const callsPerRun = (callsInRun * MAX_RUN_MS) / elapsed;
        const wanted = Math.floor(callsPerRun / READINGS_PER_RUN);
        callsPerReading = Math.min(MAX_CALLS_PER_READING, Math.max(1, wanted));
        nextTurn = new Promise((resolve) => {
          resolveNextTurn = resolve;
        });
        return true;
      }
    }
    callsLeft = callsPerReading;
    return false;
  }

  return (call) => {
    callsLeft -= 1;
    if (callsLeft > 0 || (nextTurn === undefined && !isTurnDue())) return call;
    return Promise.allSettled([call, nextTurn]).then(() => call);
  };
}

/*
 * All are read when this module is loaded, because fake timers, which a test may install later, do not run by themselves. Some edge
 * runtimes have no `setImmediate`.
 */
const now = performance.now.bind(performance);
const { setImmediate, setTimeout } = globalThis;
const scheduleMacrotask: (callback: () => void) => unknown =
  setImmediate ?? ((callback) => setTimeout(callback, 0));

/** Yields to the event loop of this thread. */
export const yieldToEventLoop: YieldToEventLoop = createYield(now, scheduleMacrotask);
