// Writes the tables of docs/understand/sizing.md from docs/images/sizing.json, the last run of test/bench/sizing.mjs that was kept. With
// --check, fails when the page is not what the run says, instead of writing it.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { writeSizing } from "./sizing/page.mjs";

const docs = join(import.meta.dirname, "../docs");
const file = join(docs, "understand/sizing.md");
const run = JSON.parse(readFileSync(join(docs, "images/sizing.json"), "utf8"));
const page = readFileSync(file, "utf8");
const written = writeSizing(page, run);

if (!process.argv.includes("--check")) {
  writeFileSync(file, written);
} else if (page !== written) {
  console.error("docs/understand/sizing.md is stale: run `node scripts/write-sizing.mjs`");
  process.exit(1);
}
