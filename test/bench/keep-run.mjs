import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "../..");
const RESULTS = join(ROOT, "docs/images/performance.json");

/** Keeps a run for docs/understand/performance.md and its figures, as the formatter would leave it, and draws the pages and their pictures anew. */
export function keepRun(results) {
  writeFileSync(RESULTS, JSON.stringify(results));
  run(join(ROOT, "node_modules/@biomejs/biome/bin/biome"), "format", "--write", RESULTS);
  run(join(ROOT, "scripts/draw-performance.mjs"));
}

function run(script, ...args) {
  execFileSync(process.execPath, [script, ...args], { cwd: ROOT, stdio: ["ignore", "ignore", 2] });
}
