// The table of the comparison, and where it is kept.
import { join } from "node:path";
import { formatTable } from "../../../scripts/fault-table/markdown-table.mjs";

export const RESULTS = join(import.meta.dirname, "results.json");
export const PAGE = join(import.meta.dirname, "../../../docs/how-to/call-another-api.md");

const NAMES = { headgate: "Headgate", bottleneck: "Bottleneck", retrying: "retrying fetch" };

/** A row for each scenario and tool. */
export function formatComparison({ rows }) {
  let last;
  const cells = rows.map(({ scenario, tool, refused, seconds, lost, doubled }) => {
    const name = scenario === last ? "" : scenario;
    last = scenario;
    return [name, NAMES[tool], refused, seconds.toFixed(1), lost, doubled].map(String);
  });
  const head = ["limit", "tool", "429s", "seconds", "lost", "doubled"];
  return formatTable(head, cells);
}
