/** How many gaps of the timer are measured. */
const GAPS = 8;

/** A loop beside which the timer has hardly fired by then stops the event loop, in milliseconds. */
const GIVE_UP_MS = 2_000;

/**
 * Awaits a call again and again, whether it resolves or rejects, beside a timer of 1 ms. Returns the shortest gap between two
 * firings, in milliseconds of processor time, because others who use the machine stretch gaps, too. Infinity if the timer hardly
 * fires.
 */
export async function loopBesideTimer(call: () => Promise<unknown>): Promise<number> {
  const startedAt = processorTime();
  const firings: number[] = [];
  const timer = setInterval(() => firings.push(processorTime()), 1);
  while (firings.length <= GAPS && processorTime() - startedAt < GIVE_UP_MS) {
    await call().catch(() => {});
  }
  clearInterval(timer);
  if (firings.length <= GAPS) return Number.POSITIVE_INFINITY;
  return Math.min(...firings.slice(1).map((at, i) => at - (firings[i] as number)));
}

/** The processor time of this process, in milliseconds. */
function processorTime(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
