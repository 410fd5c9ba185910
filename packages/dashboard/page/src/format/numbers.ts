import { formatCount } from "../../../src/counts.ts";

/** A count in at most five characters: `980`, `12.4k`, `3M`. */
export function formatShort(count: number): string {
  for (const [size, unit] of [
    [1e9, "G"],
    [1e6, "M"],
    [1e3, "k"],
  ] as const) {
    if (count >= size * 0.9995) return `${Number((count / size).toPrecision(3))}${unit}`;
  }
  return String(Number(count.toPrecision(3)));
}

/** A number for each second: `0`, `< 0.01`, `0.25`, `7.4`, `1,240`. */
export function formatRate(rate: number): string {
  if (rate === 0) return "0";
  if (rate < 0.01) return "< 0.01";
  if (rate < 10) return String(Number(rate.toPrecision(2)));
  return rate < 100 ? rate.toFixed(1) : formatCount(Math.round(rate));
}

/** A percentage with a no-break space. Only 0 is shown as 0 %, and only the whole as 100 %. */
export function formatShare(part: number, whole: number): string {
  if (part === 0 || whole === 0) return "0\u00a0%";
  if (part === whole) return "100\u00a0%";
  const percent = (part / whole) * 100;
  if (percent < 0.01) return "<\u00a00.01\u00a0%";
  if (percent > 99.99) return ">\u00a099.99\u00a0%";
  return `${percent.toFixed(percent < 1 || percent > 99 ? 2 : 1)}\u00a0%`;
}

const BYTE_UNITS = ["bytes", "KB", "MB", "GB", "TB"];

/** `12.5 MB`: 1 KB is 1,024 bytes. */
export function formatBytes(bytes: number): string {
  const power =
    bytes < 1_024 ? 0 : Math.min(BYTE_UNITS.length - 1, Math.floor(Math.log2(bytes) / 10));
  const number = bytes / 1_024 ** power;
  return `${Number(number.toPrecision(3))} ${BYTE_UNITS[power]}`;
}
