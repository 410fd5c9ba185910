import { median } from "../statistics.mjs";

/** Whose calls do nothing but return to a loop that awaits them. */
export const LOOP = "the loop itself";

const MANY_KEYS = ", 100,000 keys";

/**
 * The nanoseconds of each round that a call took in process, without those of the loop and its `await`, which would make every
 * ratio smaller than it is. `column` is `nanoseconds` or `cpuNanoseconds`; no numbers where the row or the loop was not measured.
 */
export function netOf(rows, name, column) {
  const find = (wanted) => rows.find((row) => row.suite === "in-process" && row.name === wanted);
  const loop = find(name.endsWith(MANY_KEYS) ? LOOP + MANY_KEYS : LOOP)?.[column];
  if (loop === undefined) return [];
  const base = median(loop);
  return (find(name)?.[column] ?? []).map((nanoseconds) => nanoseconds - base);
}

export function isLoop(name) {
  return name.startsWith(LOOP);
}
