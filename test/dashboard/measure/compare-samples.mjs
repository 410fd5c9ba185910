/**
 * The allowed growth of each figure: a share of its value or an absolute amount, whichever is more. The data of a view grows in the
 * first hour of a fleet, and so does the server's; a leak of each response would be ten times as much.
 */
const ALLOWED = {
  pageHeap: { share: 0.1, least: 1_500_000 },
  nodes: { share: 0.1, least: 200 },
  listeners: { share: 0.1, least: 20 },
  serverHeap: { share: 0.1, least: 2_000_000 },
  serverRss: { share: 0.15, least: 15_000_000 },
};

/** Compares the median of the last third of all samples with that of the second; the first third is warm-up. */
export function compareSamples(samples) {
  const third = Math.floor(samples.length / 3);
  const [second, last] = [samples.slice(-2 * third, -third), samples.slice(-third)];
  return Object.entries(ALLOWED).map(([name, { share, least }]) => {
    const before = median(second.map((sample) => sample[name]));
    const after = median(last.map((sample) => sample[name]));
    return { name, before, after, isSteady: after - before <= Math.max(before * share, least) };
  });
}

export function median(values) {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
}
