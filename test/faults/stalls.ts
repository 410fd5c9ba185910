const TICK_MS = 4;

/** How long this process's event loop did not run, measured by a timer that is due every 4 ms. */
export interface Stalls {
  /** Milliseconds of stalls between two times of `performance.now()`. */
  stalledMs(from: number, to: number): number;
  /** The longest stall, in milliseconds. */
  longestMs(): number;
  stop(): void;
}

/**
 * Watches the event loop. On a busy machine, a timer of 100 ms may fire after 300 ms: the answer is
 * late although nothing waited for the store. A call that waits for the store leaves the loop free, so stalls cannot hide a hang.
 */
export function watchStalls(): Stalls {
  const stalls: { readonly from: number; readonly to: number }[] = [];
  let last = performance.now();
  const ticker = setInterval(() => {
    const now = performance.now();
    if (now - last > 2 * TICK_MS) stalls.push({ from: last + TICK_MS, to: now });
    last = now;
  }, TICK_MS);
  return {
    stalledMs(from, to) {
      let lost = 0;
      for (const stall of stalls) {
        lost += Math.max(0, Math.min(stall.to, to) - Math.max(stall.from, from));
      }
      return lost;
    },
    longestMs: () => Math.max(0, ...stalls.map(({ from, to }) => to - from)),
    stop: () => clearInterval(ticker),
  };
}
