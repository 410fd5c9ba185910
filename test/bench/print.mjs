/** Three digits, and thousands told apart. */
export function formatNumber(number) {
  if (!Number.isFinite(number)) return "–";
  if (Math.abs(number) >= 1_000) {
    return Number(number.toPrecision(3)).toLocaleString("en-US", { maximumFractionDigits: 0 });
  }
  return number === 0 ? "0" : String(Number(number.toPrecision(3)));
}

/** Columns of text are on the left, numbers on the right. */
export function printTable(title, head, rows) {
  console.log(`\n${title}`);
  const widths = head.map((cell, i) => Math.max(cell.length, ...rows.map((row) => row[i].length)));
  const isNumber = head.map((_, i) => rows.every((row) => /^[\d.,–%×-]*( [%×])?$/.test(row[i])));
  for (const row of [head, ...rows]) {
    const cells = row.map((cell, i) =>
      isNumber[i] ? cell.padStart(widths[i]) : cell.padEnd(widths[i]),
    );
    console.log(`  ${cells.join("  ")}`);
  }
}
