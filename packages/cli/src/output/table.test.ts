import { expect, test } from "vitest";
import { formatTable } from "./table.ts";

const columns = [
  { head: "SUBJECT" },
  { head: "SAYS", wraps: true },
  { head: "COUNT", align: "right" },
] as const;

test("columns are aligned, without borders and trailing spaces", () => {
  const rows = [
    ["ann", "all is well", "7"],
    ["203.0.113.7", "", "1,000"],
  ];
  expect(formatTable(columns, rows)).toBe(
    [
      "SUBJECT       SAYS          COUNT",
      "ann           all is well       7",
      "203.0.113.7                 1,000",
      "",
    ].join("\n"),
  );
});

test("on a narrow terminal, cells wrap between words, and nothing is truncated", () => {
  const subject = "a-subject-of-some-length";
  const words = "words that go on and on until the end of the terminal";
  const lines = formatTable(columns, [[subject, words, "7"]], 60).split("\n");
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(60);
  expect(lines[1]).toContain(subject);
  expect(lines.slice(1).join(" ").replace(subject, "").replace("7", "").split(/\s+/)).toEqual([
    ...["", ...words.split(" "), ""],
  ]);
});

test("a subject or a word that is wider than the terminal stays complete", () => {
  const [subject, word] = ["s".repeat(50), "w".repeat(40)];
  const table = formatTable(columns, [[subject, `a ${word} b`, "7"]], 30);
  expect(table).toContain(subject);
  expect(table).toContain(word);
});

test("wide characters are not truncated", () => {
  const says = "速度制限 の 説明 です";
  const table = formatTable(columns, [["ü", says, "7"]], 24);
  for (const word of says.split(" ")) expect(table).toContain(word);
});

test("control characters are escaped, also inside a style", () => {
  const style = (shown: string): string => `\u001b[33m${shown}\u001b[39m`;
  const table = formatTable(columns, [["a\u001b[2Jb", { text: "x\ny", style }, "7"]]);
  expect(table).toContain("a\\x1b[2Jb   \u001b[33mx\\ny\u001b[39m");
});
