/**
 * Formats a count: `12,345`. A fraction is rounded to two digits. By hand: a browser's first `Intl` format takes a slow machine a quarter
 * of a second, before the first view of the dashboard.
 */
export function formatCount(count: number): string {
  const rounded = Number.isInteger(count) ? count : Number(count.toPrecision(2));
  return String(rounded).replace(/(?<!\..*)\B(?=(?:\d{3})+(?!\d))/g, ",");
}

/** Formats a count with its noun: `1 client`, `2,000 clients`. */
export function pluralize(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}

/** Formats a count with its noun for a sentence: `one client`, `2,000 clients`. */
export function pluralizeInWords(count: number, one: string): string {
  return count === 1 ? `one ${one}` : pluralize(count, one);
}

/** Formats a count in at most five characters: `980`, `12.4k`, `3M`. */
export function formatShortCount(count: number): string {
  for (const [size, unit] of [
    [1_000_000_000, "G"],
    [1_000_000, "M"],
    [1_000, "k"],
  ] as const) {
    if (count >= size * 0.9995) return `${Number((count / size).toPrecision(3))}${unit}`;
  }
  return String(Number(count.toPrecision(3)));
}

/** Formats a percentage with no-break spaces. Only 0 gives 0 %, and only the whole gives 100 %. */
export function formatShare(part: number, whole: number): string {
  if (part === 0 || whole === 0) return "0\u00a0%";
  if (part === whole) return "100\u00a0%";
  const percent = (part / whole) * 100;
  if (percent < 0.01) return "<\u00a00.01\u00a0%";
  if (percent > 99.99) return ">\u00a099.99\u00a0%";
  return `${percent.toFixed(percent < 1 || percent > 99 ? 2 : 1)}\u00a0%`;
}

/** Formats a part of a whole: `3 of 2,026 (0.15%)`. */
export function formatPart(part: number, whole: number): string {
  const percent = whole === 0 ? 0 : (part / whole) * 100;
  return `${formatCount(part)} of ${formatCount(whole)} (${Number(percent.toPrecision(2))}%)`;
}

const BYTE_UNITS = ["bytes", "KB", "MB", "GB", "TB"];

/** Formats bytes: `12.5 MB`. 1 KB is 1,024 bytes. */
export function formatBytes(bytes: number): string {
  const largest = BYTE_UNITS.length - 1;
  const power = bytes < 1_024 ? 0 : Math.min(largest, Math.floor(Math.log2(bytes) / 10));
  const number = bytes / 1_024 ** power;
  return `${number < 10 && power > 0 ? number.toFixed(1) : Math.round(number)} ${BYTE_UNITS[power]}`;
}
