import { expect, test } from "vitest";
import { sortRows } from "./sort-rows.ts";

const columns = [
  { title: "Name", sortKey: (row: { name: string; count: number }) => row.name },
  { title: "Count", sortKey: (row: { name: string; count: number }) => row.count },
];

const rows = [
  { name: "web-10", count: 1 },
  { name: "web-2", count: 3 },
  { name: "api", count: 3 },
];

const names = (order?: { title: string; isAscending: boolean }) =>
  sortRows(rows, columns, order).map(({ name }) => name);

test("table rows are sorted by a column, with numbers in names compared as numbers", () => {
  expect(names({ title: "Name", isAscending: true })).toEqual(["api", "web-2", "web-10"]);
  expect(names({ title: "Count", isAscending: false })).toEqual(["web-2", "api", "web-10"]);
});

test("table rows keep their order without a sort column", () => {
  expect(names()).toEqual(["web-10", "web-2", "api"]);
  expect(names({ title: "Other", isAscending: true })).toEqual(["web-10", "web-2", "api"]);
});
