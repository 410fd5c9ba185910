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

/** A share of a whole, in percent, which no line breaks; nothing that is there is shown as 0 %, and nothing that is missing as 100 %. */
export function formatShare(part: number, whole: number): string {
  if (part === 0 || whole === 0) return "0\u00a0%";
  if (part === whole) return "100\u00a0%";
  const percent = (part / whole) * 100;
  if (percent < 0.01) return "< 0.01\u00a0%";
  if (percent > 99.99) return "> 99.99\u00a0%";
  if (percent < 1 || percent > 99) return `${percent.toFixed(2)}\u00a0%`;
  return `${percent.toFixed(1)}\u00a0%`;
}

/** Milliseconds since the epoch, in UTC: `2026-03-03 05:00:07`. */
export function formatMoment(ms: number): string {
  return new Date(ms).toISOString().slice(0, 19).replace("T", " ");
}

/** `1 client`, `2 clients`. */
export function counted(count: number, one: string): string {
  return `${formatCount(count)} ${one}${count === 1 ? "" : "s"}`;
}
