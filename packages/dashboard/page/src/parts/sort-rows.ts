/** The sort order of a table, by the title of a column. */
export interface SortOrder {
  readonly title: string;
  readonly isAscending: boolean;
}

/** A column's sort key. */
export interface Sortable<Row> {
  readonly title: string;
  /** Missing if the column cannot be sorted. */
  readonly sortKey?: (row: Row) => number | string;
}

/** The rows in an order; equal ones keep their positions. */
export function sortRows<Row>(
  rows: readonly Row[],
  columns: readonly Sortable<Row>[],
  order: SortOrder | undefined,
): readonly Row[] {
  const by = columns.find(({ title }) => title === order?.title)?.sortKey;
  if (by === undefined || order === undefined) return rows;
  const sign = order.isAscending ? 1 : -1;
  return [...rows].sort((a, b) => sign * compare(by(a), by(b)));
}

function compare(a: number | string, b: number | string): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), "en", { numeric: true });
}
