import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { formatCount } from "../../../src/counts.ts";

import type { Sortable, SortOrder } from "./sort-rows.ts";
import { sortRows } from "./sort-rows.ts";

/** The default number of rows shown at first. */
const DEFAULT_ROWS = 100;

export interface Column<Row> extends Sortable<Row> {
  /** A title for screen readers only. */
  readonly isTitleHidden?: boolean;
  readonly cell: (row: Row) => ComponentChildren;
  readonly kind?: "number" | "wide" | "wide spare" | "tools";
}

/** A table that scrolls in its own box. On a narrow screen each row is a card, in which each cell has its column's title. */
export function Table<Row>({
  label,
  columns: given,
  tools,
  rows,
  keyOf,
  first = DEFAULT_ROWS,
}: {
  label: string;
  columns: readonly Column<Row>[];
  /** The actions on a row, in the last column; false if the visitor may take none. */
  tools?: Column<Row>["cell"] | false;
  rows: readonly Row[];
  keyOf: (row: Row) => string;
  /** The most rows shown at first. */
  first?: number;
}): JSX.Element {
  const [order, setOrder] = useState<SortOrder>();
  const [isWhole, showAll] = useState(false);
  const columns = tools
    ? [...given, { title: "Actions", isTitleHidden: true, kind: "tools" as const, cell: tools }]
    : given;
  const sorted = sortRows(rows, columns, order);
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must have keyboard focus */}
      <section class="scroll" tabIndex={0} aria-label={`${label}, as a table`}>
        <table>
          <thead>
            <tr>
              {columns.map((column) => (
                <Head key={column.title} column={column} order={order} setOrder={setOrder} />
              ))}
            </tr>
          </thead>
          <tbody>
            {(isWhole ? sorted : sorted.slice(0, first)).map((row) => (
              <tr key={keyOf(row)}>
                {columns.map((column) => (
                  <td
                    key={column.title}
                    class={column.kind}
                    data-title={column.isTitleHidden ? undefined : column.title}
                  >
                    {column.cell(row)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      {!isWhole && rows.length > first && (
        <button type="button" class="more" onClick={() => showAll(true)}>
          Show all {formatCount(rows.length)} rows
        </button>
      )}
    </>
  );
}

function Head<Row>({
  column: { title, sortKey, kind, isTitleHidden },
  order,
  setOrder,
}: {
  column: Column<Row>;
  order: SortOrder | undefined;
  setOrder: (order: SortOrder) => void;
}): JSX.Element {
  if (sortKey === undefined) {
    return (
      <th scope="col" class={kind}>
        {isTitleHidden ? <span class="visually-hidden">{title}</span> : title}
      </th>
    );
  }
  const isSorted = order?.title === title;
  const sort = isSorted ? (order.isAscending ? "ascending" : "descending") : "none";
  const isAscending = isSorted ? !order.isAscending : kind !== "number";
  return (
    <th scope="col" class={kind} aria-sort={sort}>
      <button type="button" class="sort" onClick={() => setOrder({ title, isAscending })}>
        {title}
        <span class="arrow" aria-hidden="true">
          {isSorted ? (order.isAscending ? "↑" : "↓") : "↕"}
        </span>
      </button>
    </th>
  );
}
