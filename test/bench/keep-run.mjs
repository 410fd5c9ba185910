import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "../..");

/** Keeps a run for docs/understand/performance.md and its figures, and draws the pages and their pictures anew. */
export function keepRun(results) {
  keep("performance.json", results);
  run(join(ROOT, "scripts/draw-performance.mjs"));
}

/** Keeps a run for docs/understand/sizing.md, and writes the page's tables anew. */
export function keepSizing(results) {
  keep("sizing.json", results);
  run(join(ROOT, "scripts/write-sizing.mjs"));
}

/** Keeps a run for the picture of docs/how-to/shed-load.md, and draws it anew. */
export function keepShedding(results) {
  keep("shedding.json", results);
  run(join(ROOT, "scripts/draw-shedding.mjs"));
}

/** As the formatter would leave it. */
function keep(name, results) {
  const file = join(ROOT, "docs/images", name);
  writeFileSync(file, JSON.stringify(results));
  run(join(ROOT, "node_modules/@biomejs/biome/bin/biome"), "format", "--write", file);
}

function run(script, ...args) {
  execFileSync(process.execPath, [script, ...args], { cwd: ROOT, stdio: ["ignore", "ignore", 2] });
}
