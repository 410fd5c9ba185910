import { formatCount } from "../../../src/counts.ts";

/** A number for each second: `0`, `< 0.01`, `0.25`, `7.4`, `1,240`. */
export function formatRate(rate: number): string {
  if (rate === 0) return "0";
  if (rate < 0.01) return "< 0.01";
  if (rate < 10) return String(Number(rate.toPrecision(2)));
  return rate < 100 ? rate.toFixed(1) : formatCount(Math.round(rate));
}

const BYTE_UNITS = ["bytes", "KB", "MB", "GB", "TB"];

/** `12.5 MB`: 1 KB is 1,024 bytes. */
export function formatBytes(bytes: number): string {
  const power =
    bytes < 1_024 ? 0 : Math.min(BYTE_UNITS.length - 1, Math.floor(Math.log2(bytes) / 10));
  const number = bytes / 1_024 ** power;
  return `${Number(number.toPrecision(3))} ${BYTE_UNITS[power]}`;
}
