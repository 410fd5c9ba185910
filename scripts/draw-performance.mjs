// Draws docs/images/performance.svg and performance-http.svg from docs/images/performance.json, the last run of the
// benchmarks that was kept, and writes its tables into README.md, docs/understand/performance.md and test/bench/FIGURES.md.
// With --check, fails when a committed file is not what the committed run says, instead of writing it.
//
//   npx -y pnpm@10.34.9 bench --save
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { drawBars } from "./performance/bars.mjs";
import { writePages } from "./performance/page.mjs";
import { decisionPanels, httpPanels } from "./performance/panels.mjs";

const docs = join(import.meta.dirname, "../docs");
const run = JSON.parse(readFileSync(join(docs, "images/performance.json"), "utf8"));
const pages = ["README.md", "docs/understand/performance.md", "test/bench/FIGURES.md"].map((page) =>
  join(docs, "..", page),
);

const files = {
  [join(docs, "images/performance.svg")]: drawBars(
    "Decisions per second from one process on one Redis",
    "64 in flight, 1,000 subjects, one limit, all allowed; medians",
    decisionPanels(run.rows),
  ),
  [join(docs, "images/performance-http.svg")]: drawBars(
    "Requests per second, as a share of the same application with constant headers and bodies",
    "64 connections, everybody at one address; medians",
    httpPanels(run.rows),
  ),
  ...writePages(Object.fromEntries(pages.map((page) => [page, readFileSync(page, "utf8")])), run),
};

let isStale = false;
for (const [file, text] of Object.entries(files)) {
  if (!process.argv.includes("--check")) {
    writeFileSync(file, text);
  } else if (readFileSync(file, "utf8") !== text) {
    console.error(`${file} is stale: run \`node scripts/draw-performance.mjs\``);
    isStale = true;
  }
}
if (isStale) process.exit(1);
