import { describe, expect, test } from "vitest";
import type { Table } from "../markdown.ts";
import { codeIn } from "../markdown.ts";

/** Shows that what a row of a table advises does what the peer's option does. */
type Show = () => Promise<void>;

/**
 * Tests each row of tables that names a counterpart, by both sides on the same traffic. `elsewhere` are options that other tests
 * show.
 */
export function describeRows(
  tables: readonly Table[],
  rows: Readonly<Record<string, Show>>,
  elsewhere: readonly string[] = [],
): void {
  describe("what each row advises does the same", () => {
    const advised = tables.flatMap(({ rows }) =>
      rows.flatMap(([there = "", here]) => (here === "none" ? [] : codeIn(there))),
    );

    test("every row of the page is shown", () => {
      expect([...Object.keys(rows), ...elsewhere].toSorted()).toEqual(advised.toSorted());
    });

    test.each(Object.keys(rows))("%s", (option) => rows[option]?.());
  });
}
