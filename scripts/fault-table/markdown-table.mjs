/** A table as the formatter would leave it. Columns but the first are numbers, and stand to the right. */
export function formatTable(head, rows) {
  const widths = head.map((title, column) =>
    Math.max(3, ...[title, ...rows.map((row) => row[column])].map((cell) => cell.length)),
  );
  const line = (cells) => `| ${cells.join(" | ")} |`;
  const pad = (cell, column) =>
    column === 0 ? cell.padEnd(widths[column]) : cell.padStart(widths[column]);
  const rule = widths.map((width, column) =>
    column === 0 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`,
  );
  return [line(head.map(pad)), line(rule), ...rows.map((row) => line(row.map(pad)))].join("\n");
}

export function largest(numbers) {
  return numbers.reduce((most, next) => Math.max(most, next), 0);
}

export function sum(numbers) {
  return numbers.reduce((total, next) => total + next, 0);
}

/** Prose in lines of at most 128 characters. */
export function wrap(text) {
  return text.replace(/(?=\S)(.{1,128})(?:\s|$)/g, "$1\n").trimEnd();
}
