import type { Markup } from "./markup.ts";
import { html } from "./markup.ts";

/** A column of a table. */
export interface Column {
  readonly title: string | Markup;
  /** The kind of the content. Default: numbers. */
  readonly kind?: "words";
}

/** A cell: text or markup. */
export type Cell = string | Markup;

interface Table {
  readonly caption: string | Markup;
  readonly columns: readonly Column[];
  readonly rows: ReadonlyArray<readonly Cell[]>;
  /** Whether each row becomes a card on a narrow page, with a title for every cell. Otherwise the table scrolls in its box. */
  readonly hasCards?: boolean;
}

/**
 * Renders a table whose first cells are row headers. If it is too wide, it scrolls in its own box, whose edges show that there is more.
 * The ARIA roles keep it a table when a narrow page shows rows as cards.
 */
export function renderTable({ caption, columns, rows, hasCards = false }: Table): Markup {
  const head = columns.map(({ title, kind }, i) =>
    kind === undefined && i > 0
      ? html`<th role="columnheader" scope="col">${title}</th>`
      : html`<th role="columnheader" scope="col" class="words">${title}</th>`,
  );
  const body = rows.map(
    (
      cells,
    ) => html`<tr role="row">${cells.map((cell, i) => cellOf(cell, i, columns[i], hasCards))}</tr>
`,
  );
  return html`<div class="scroll" tabindex="0" role="group" aria-label="Table">
<table role="table"${hasCards ? CARDS : NOTHING}><caption>${caption}</caption>
<thead role="rowgroup"><tr role="row">${head}</tr></thead>
<tbody role="rowgroup">
${body}</tbody></table>
</div>
`;
}

const NOTHING: Markup = html``;
const CARDS: Markup = html` class="cards"`;

function cellOf(cell: Cell, i: number, column: Column | undefined, hasCards: boolean): Markup {
  if (i === 0) return html`<th role="rowheader" scope="row" class="words">${cell}</th>`;
  const words = column?.kind === undefined ? NOTHING : html` class="words"`;
  const title = hasCards ? html` data-title="${column?.title ?? ""}"` : NOTHING;
  return html`<td role="cell"${words}${title}>${cell}</td>`;
}
