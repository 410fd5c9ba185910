import type { Markup } from "./markup.ts";
import { html } from "./markup.ts";

/** A column of a table. */
export interface Column {
  readonly title: string;
  /** What stands in it: numbers if left out; `long` texts take several lines. */
  readonly kind?: "words" | "long";
}

/** A cell: text, or what is drawn. */
export type Cell = string | Markup;

/** A table whose first cells head their rows; where it is too wide, it scrolls by itself, not the page. */
export function renderTable(
  caption: string,
  columns: readonly Column[],
  rows: ReadonlyArray<readonly Cell[]>,
): Markup {
  const head = columns.map(({ title, kind }, i) =>
    kind === undefined && i > 0
      ? html`<th scope="col">${title}</th>`
      : html`<th scope="col" class="words">${title}</th>`,
  );
  const body = rows.map(
    (cells) => html`<tr>${cells.map((cell, i) => cellOf(cell, i, columns[i]))}</tr>
`,
  );
  return html`<div class="scroll" role="region" aria-label="${caption}" tabindex="0">
<table><caption>${caption}</caption>
<thead><tr>${head}</tr></thead>
<tbody>
${body}</tbody></table>
</div>
`;
}

function cellOf(cell: Cell, i: number, column: Column | undefined): Markup {
  if (i === 0) return html`<th scope="row" class="words">${cell}</th>`;
  if (column?.kind === undefined) return html`<td>${cell}</td>`;
  const kinds = column.kind === "long" ? "words long" : "words";
  return html`<td class="${kinds}">${cell}</td>`;
}
