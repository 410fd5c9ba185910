import { describe, expect, test } from "vitest";
import type { Page, Table } from "../markdown.ts";
import { codeIn, section, tablesOf } from "../markdown.ts";

/** One set-up of a page, with the other limiter and with Headgate. */
export interface SetUp {
  readonly heading: string;
  readonly before: string;
  readonly after: string;
}

const SETUP =
  /^::: code-group\n\n```\w+ \[.+\]\n([\s\S]*?)^```\n\n```\w+ \[Headgate\]\n([\s\S]*?)^```\n\n:::$/m;

/** Returns the sections of a page that have a code group of two snippets. */
export function setUpsOf({ text }: Page): SetUp[] {
  return text.split(/^##+ /m).flatMap((part) => {
    const [, before, after] = SETUP.exec(part) ?? [];
    if (before === undefined || after === undefined) return [];
    return [{ heading: part.slice(0, part.indexOf("\n")), before, after }];
  });
}

/** Tests every set-up of a page with the traffic that has its heading as key. */
export function describeSetUps<Traffic>(
  it: Page,
  traffic: Readonly<Record<string, Traffic>>,
  compare: (setUp: SetUp, traffic: Traffic) => Promise<void>,
): void {
  describe("side by side", () => {
    const setUps = setUpsOf(it);

    test("every set-up of the page gets traffic", () => {
      expect(setUps.map(({ heading }) => heading)).toEqual(Object.keys(traffic));
    });

    test.each(setUps)("$heading", (setUp) => compare(setUp, traffic[setUp.heading] as Traffic));
  });
}

/** Tests the intended differences on a page. The keys are the bold texts at the start of their lines. */
export function describeDifferences(
  it: Page,
  differences: Readonly<Record<string, () => Promise<void> | void>>,
): void {
  describe("what behaves differently on purpose", () => {
    test("every difference on the page is shown", () => {
      const leads = [
        ...section(it, "What behaves differently on purpose").matchAll(/^- \*\*(.+?)\*\*/gm),
      ];
      expect(leads.map(([, lead]) => lead)).toEqual(Object.keys(differences));
    });

    test.each(Object.keys(differences))("%s", async (lead) => differences[lead]?.());
  });
}

/** Returns the tables of a section of a page. */
export function tablesIn(it: Page, heading: string): Table[] {
  return tablesOf(section(it, heading));
}

/** Returns the tables under a heading of the third level. */
export function tablesUnder({ text }: Page, heading: string): Table[] {
  const [, rest = ""] = text.split(`\n### ${heading}\n`);
  return tablesOf(rest.split(/^##+ /m)[0] as string);
}

/** Returns the names in the first cells of tables. */
export function namesIn(tables: readonly Table[]): string[] {
  return tables.flatMap(({ rows }) => rows.flatMap(([there = ""]) => codeIn(there)));
}

/** Tests Headgate's error for each option of the other limiter against the page. Headgate has the options `ours` as well. */
export function describeErrors(
  tables: readonly Table[],
  make: (options: object) => unknown,
  ours: readonly string[],
): void {
  const rows = tables.flatMap(({ rows }) =>
    rows.flatMap(([there = "", here = ""]) =>
      codeIn(there).map((option) => [option, here.replaceAll("`", "")] as const),
    ),
  );

  test.each(rows)("%s: the error says what the page does", (option, here) => {
    const made = () => make({ [option]: 1 });
    if (ours.includes(option)) expect(made).not.toThrow("unknown option");
    else if (here === "none") expect(made).toThrow(`unknown option "${option}"; it takes`);
    else expect(made).toThrow(`unknown option "${option}"; Headgate's way is ${here}`);
  });
}
