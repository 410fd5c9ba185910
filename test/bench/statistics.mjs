/** The value below which a share of the numbers lie, 0 to 1, between two of them where need be; NaN of none. */
export function quantile(numbers, share) {
  const sorted = numbers.toSorted((a, b) => a - b);
  const at = share * (sorted.length - 1);
  const below = sorted[Math.floor(at)] ?? Number.NaN;
  const above = sorted[Math.ceil(at)] ?? Number.NaN;
  return below + (above - below) * (at - Math.floor(at));
}

export function median(numbers) {
  return quantile(numbers, 0.5);
}

/** The median, and the quartiles between which half of the rounds lie. */
export function spreadOf(numbers) {
  return {
    median: median(numbers),
    low: quantile(numbers, 0.25),
    high: quantile(numbers, 0.75),
  };
}

/** How many times the one the other is, by their medians: so that all ratios of one run agree with each other, and with its figures. */
export function ratioOf(numbers, others) {
  return median(numbers) / median(others);
}

/** The same of each round, for the range in which a ratio varies. */
export function ratiosOf(numbers, others) {
  return numbers.map((number, round) => number / others[round]);
}

/** As many digits as a measurement has. */
export function rounded(number) {
  return Number(number.toPrecision(4));
}
