import { spreadOf } from "./statistics.mjs";

/** Three digits, and thousands told apart. */
export function formatNumber(number) {
  if (!Number.isFinite(number)) return "–";
  const rounded = Number(number.toPrecision(3));
  return Math.abs(rounded) >= 1_000 ? rounded.toLocaleString("en-US") : String(rounded);
}

/** The median, and the quartiles. */
export function formatSpread(numbers) {
  const { median, low, high } = spreadOf(numbers);
  return `${formatNumber(median)} (${formatNumber(low)}–${formatNumber(high)})`;
}

/** Text on the left, numbers on the right. */
export function printTable({ title, head, rows }) {
  const widths = head.map((cell, i) => Math.max(cell.length, ...rows.map((row) => row[i].length)));
  const isText = head.map((_, i) => rows.some((row) => /^[a-z@<]/i.test(row[i])));
  console.log(`\n${title}`);
  for (const row of [head, ...rows]) {
    const cells = row.map((cell, i) =>
      isText[i] ? cell.padEnd(widths[i]) : cell.padStart(widths[i]),
    );
    console.log(`  ${cells.join("  ")}`);
  }
}
