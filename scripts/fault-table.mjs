// Prints the latest measurements of the fault suites, as the tables of test/faults/OUTAGES.md.
// With --write, puts each table between its markers on that page. With --since, prints only what is newer than a moment
// in milliseconds since the epoch.
//
//   HEADGATE_FAULT_ROUNDS=20 npx vitest run test/faults
//   node scripts/fault-table.mjs --write
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { formatHeadgateTable } from "./fault-table/headgate-table.mjs";
import { formatPeerTables } from "./fault-table/peer-tables.mjs";
import { replaceBetween } from "./replace-between.mjs";

const RESULTS = join(import.meta.dirname, "../node_modules/.cache/headgate-faults");
const PAGE = join(import.meta.dirname, "../test/faults/OUTAGES.md");

/** The table of each suite, and its markers. */
const SUITES = [
  { suite: "headgate", format: formatHeadgateTable, marker: "faults" },
  { suite: "peers", format: formatPeerTables, marker: "peers" },
];

const { values } = parseArgs({
  options: { write: { type: "boolean" }, since: { type: "string", default: "0" } },
});

for (const { suite, format, marker } of SUITES) {
  const results = readResults(suite, Number(values.since));
  if (results.length === 0) continue;
  const table = format(results);
  console.log(`\n${table}`);
  if (values.write) writeFileSync(PAGE, replaceBetween(readFileSync(PAGE, "utf8"), marker, table));
}

function readResults(suite, since) {
  if (!existsSync(RESULTS)) return [];
  return readdirSync(RESULTS)
    .filter((name) => name.startsWith(`${suite}-`))
    .map((name) => join(RESULTS, name))
    .filter((file) => statSync(file).mtimeMs >= since)
    .map((file) => JSON.parse(readFileSync(file, "utf8")))
    .filter(({ rounds }) => rounds.length > 0)
    .sort((left, right) => left.order - right.order);
}
