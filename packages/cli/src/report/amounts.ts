/** `12,345`. */
export function formatCount(count: number): string {
  return count.toLocaleString("en-US");
}

/** A count for an axis: `12k`. */
export function formatShortCount(count: number): string {
  for (const [size, unit] of [
    [1_000_000_000, "G"],
    [1_000_000, "M"],
    [1_000, "k"],
  ] as const) {
    if (count >= size) return `${Number((count / size).toPrecision(3))}${unit}`;
  }
  return String(count);
}

/** A share of a whole, in percent; nothing that is there is shown as 0 %, and nothing that is missing as 100 %. */
export function formatShare(part: number, whole: number): string {
  if (part === 0 || whole === 0) return "0 %";
  if (part === whole) return "100 %";
  const percent = (part / whole) * 100;
  if (percent < 0.01) return "< 0.01 %";
  if (percent > 99.99) return "> 99.99 %";
  if (percent < 1 || percent > 99) return `${percent.toFixed(2)} %`;
  return `${percent.toFixed(1)} %`;
}

const UNITS = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1_000],
] as const;

/** Milliseconds in the two largest units: `2 h 5 min`, `1.5 s`. */
export function formatSpan(ms: number): string {
  if (!Number.isFinite(ms)) return "for ever";
  if (ms < 1_000) return `${Math.ceil(ms)} ms`;
  if (ms < 10_000) return `${Number((ms / 1_000).toFixed(1))} s`;
  // Seconds are whole from here on, so that 59.9 s is not shown as 60 s.
  const seconds = Math.round(ms / 1_000) * 1_000;
  const first = UNITS.findIndex(([, size]) => seconds >= size);
  const [unit, size] = UNITS[first] as (typeof UNITS)[number];
  const next = UNITS[first + 1];
  const rest = next === undefined ? 0 : Math.floor((seconds % size) / next[1]);
  const whole = `${Math.floor(seconds / size)} ${unit}`;
  return rest === 0 || next === undefined ? whole : `${whole} ${rest} ${next[0]}`;
}

/** Milliseconds since the epoch, in UTC: `2026-03-03 05:00:07`. */
export function formatMoment(ms: number): string {
  return new Date(ms).toISOString().slice(0, 19).replace("T", " ");
}

/** `one client`, `2 clients`. */
export function counted(count: number, one: string): string {
  return count === 1 ? `one ${one}` : `${formatCount(count)} ${one}s`;
}
