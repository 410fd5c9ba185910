import { describe, expect, test } from "vitest";
import type { Table } from "../markdown.ts";
import { codeIn } from "../markdown.ts";

/** Shows that the option in a row of a table does the same as the other limiter's option. */
type Show = () => Promise<void>;

/**
 * Tests each row that names a Headgate counterpart, with the same traffic on both sides. Other tests show the options `elsewhere`.
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
