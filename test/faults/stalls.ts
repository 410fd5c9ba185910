const TICK_MS = 4;

/** How long this process's event loop could not run, by a ticker that should come every 4 ms. */
export interface Stalls {
  /** Milliseconds lost between two moments of `performance.now()`. */
  within(from: number, to: number): number;
  /** The longest one, in milliseconds. */
  longest(): number;
  stop(): void;
}

/**
 * Watches the event loop. On a machine that is busy with other things a timer of 100 ms may fire after 300: the answer is
 * late, though nothing waited for the store. What waits for a store leaves the loop free, so no hang is hidden by this.
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
    within(from, to) {
      let lost = 0;
      for (const stall of stalls) {
        lost += Math.max(0, Math.min(stall.to, to) - Math.max(stall.from, from));
      }
      return lost;
    },
    longest: () => Math.max(0, ...stalls.map(({ from, to }) => to - from)),
    stop: () => clearInterval(ticker),
  };
}
