import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { formatComparison, PAGE, RESULTS } from "../fetch/peers/table.mjs";

test("the page on calling another API compares the tools by the figures of the saved run", () => {
  const results = JSON.parse(readFileSync(RESULTS, "utf8"));
  expect(readFileSync(PAGE, "utf8")).toContain(
    `<!-- calls:begin -->\n\n${formatComparison(results)}\n\n<!-- calls:end -->`,
  );
  expect(results.rows).toHaveLength(21);
});
