/** What became of units that were charged, or of a decision that was settled. */
export interface Charged {
  /** The units that count: those that were charged, and of a settled decision all that it costs. 0 when nothing was done. */
  readonly counted: number;
  /** Units beyond what a counter can hold: 2 * 10^9 of a limit, 1,048,576 entries of a log. Mostly 0. */
  readonly cut: number;
  /** Whether the store did not get it, or not in every slot of a cluster; `counted` is what counts all the same. */
  readonly degraded: boolean;
}

/** Nothing was charged, so there is nothing to settle. */
export const NOTHING_CHARGED: Charged = { counted: 0, cut: 0, degraded: false };

/** What became of units that were charged in several places: what counts is what all of them could hold that got it. */
export function joinCharged(charged: readonly Charged[]): Charged {
  const cut = Math.max(...charged.map((one) => one.cut));
  return {
    counted: Math.max(...charged.map((one) => one.counted + one.cut)) - cut,
    cut,
    degraded: charged.some(({ degraded }) => degraded),
  };
}
