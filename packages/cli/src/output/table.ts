import { escapeHidden } from "@headgate/replay/internal";
import Table from "cli-table3";
import { widthOf } from "./style.ts";

export interface Column {
  /** The heading, in capitals. */
  readonly head: string;
  readonly align?: "left" | "right" | undefined;
  /** Whether its cells may wrap on a narrow terminal. Subjects and numbers never do. */
  readonly wraps?: boolean | undefined;
}

/** A text, or a text with a style that is applied after escaping. */
export type Cell = string | { readonly text: string; readonly style: (shown: string) => string };

const GAP = "   ";

const NO_BORDERS = {
  ...{ top: "", "top-mid": "", "top-left": "", "top-right": "" },
  ...{ bottom: "", "bottom-mid": "", "bottom-left": "", "bottom-right": "" },
  ...{ left: "", "left-mid": "", mid: "", "mid-mid": "", right: "", "right-mid": "" },
  middle: GAP,
};

/**
 * Formats a table without borders for a terminal width. On a narrow terminal, cells that may wrap do so between words. Nothing is
 * truncated, so a subject that is wider than the terminal stays complete. Control characters are escaped.
 */
export function formatTable(
  columns: readonly Column[],
  rows: readonly (readonly Cell[])[],
  width: number = Number.POSITIVE_INFINITY,
): string {
  const texts = rows.map((row) =>
    row.map((cell) => escapeHidden(typeof cell === "string" ? cell : cell.text)),
  );
  const table = new Table({
    head: columns.map(({ head }) => head),
    colAligns: columns.map(({ align = "left" }) => align),
    colWidths: [...widthsOf(columns, texts, width)],
    wordWrap: true,
    chars: NO_BORDERS,
    style: { head: [], border: [], compact: true, "padding-left": 0, "padding-right": 0 },
  });
  for (const [at, row] of rows.entries()) {
    table.push(row.map((cell, i) => applyStyle(cell, texts[at]?.[i] ?? "")));
  }
  return `${table.toString().replace(/ +$/gm, "")}\n`;
}

/** Writes tables, with an empty line between them, in the width of the terminal. Leaves out those without rows. */
export function writeTables(
  stdout: NodeJS.WritableStream,
  ...tables: readonly (readonly [columns: readonly Column[], rows: readonly (readonly Cell[])[]])[]
): void {
  const written = tables
    .filter(([, rows]) => rows.length > 0)
    .map(([columns, rows]) => formatTable(columns, rows, widthOf(stdout)));
  stdout.write(written.join("\n"));
}

function applyStyle(cell: Cell, text: string): string {
  return typeof cell === "string" ? text : cell.style(text);
}

/** The widths of the columns that wrap, which share the remaining width; null for columns as wide as their cells. */
function widthsOf(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  width: number,
): readonly (number | null)[] {
  const cells = columns.map(({ head }, i) => [head, ...rows.map((row) => row[i] ?? "")]);
  const widths = cells.map((column) => Math.max(...column.map(columnsOf)));
  const minimums = cells.map((column) => Math.max(...column.flatMap(wordsOf).map(columnsOf)));
  const gaps = GAP.length * (columns.length - 1);
  let excess = widths.reduce((all, one) => all + one, gaps) - width;
  const wraps = columns.flatMap((column, i) => (column.wraps ? [i] : []));
  const slack = (i: number): number => (widths[i] as number) - (minimums[i] as number);
  while (excess > 0) {
    const [widest] = wraps
      .filter((i) => slack(i) > 0)
      .sort((a, b) => (widths[b] as number) - (widths[a] as number));
    if (widest === undefined) break;
    widths[widest] = (widths[widest] as number) - 1;
    excess -= 1;
  }
  return widths.map((one, i) => (wraps.includes(i) ? one : null));
}

function wordsOf(text: string): readonly string[] {
  return text.split(/\s+/);
}

/** The most terminal columns that a text takes. Characters beyond ASCII may take two. */
function columnsOf(text: string): number {
  return [...text].reduce((all, character) => all + (character > "\x7e" ? 2 : 1), 0);
}
