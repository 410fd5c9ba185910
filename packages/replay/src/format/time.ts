const UNITS = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1_000],
] as const;

/** Formats milliseconds since the epoch in UTC, without the zone: `2026-03-03 05:00:07`; `-` for null. */
export function formatUtcTime(at: number | null): string {
  return at === null ? "-" : new Date(at).toISOString().slice(0, 19).replace("T", " ");
}

/** Formats milliseconds in at most two units: `2 h 5 min`, `45 s`, `250 ms`. Seconds are rounded up, larger units to the nearest. */
export function formatSpan(ms: number): string {
  if (ms === Number.POSITIVE_INFINITY) return "forever";
  if (ms < 1_000) return `${Math.ceil(ms)} ms`;
  const [largest = 0] = [...UNITS.keys()].filter((i) => ms >= (UNITS[i]?.[1] ?? 0));
  const units = UNITS.slice(largest, largest + 2);
  const smallest = units.at(-1)?.[1] ?? 1_000;
  const round = smallest === 1_000 ? Math.ceil : Math.round;
  const rounded = round(ms / smallest) * smallest;
  // 59.5 minutes are an hour.
  if (rounded >= (UNITS[largest - 1]?.[1] ?? Number.POSITIVE_INFINITY)) return formatSpan(rounded);
  let left = rounded;
  const written = units.flatMap(([unit, size]) => {
    const count = Math.floor(left / size);
    left -= count * size;
    return count === 0 ? [] : [`${count} ${unit}`];
  });
  return written.join(" ");
}

/** Formats a measured time with decimals: `0.42 ms`, `250 ms`, `1.5 s`. */
export function formatMeasured(ms: number): string {
  if (ms >= 1_000) return `${(ms / 1_000).toFixed(1)} s`;
  return `${ms < 10 ? ms.toFixed(2) : Math.round(ms)} ms`;
}

/** Formats a time relative to now: `in 2 h 5 min`, `3 s ago`, `now`. */
export function formatFromNow(at: number, now: number): string {
  if (at === now) return "now";
  return at > now ? `in ${formatSpan(at - now)}` : `${formatSpan(now - at)} ago`;
}
