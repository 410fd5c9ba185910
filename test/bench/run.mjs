// The benchmarks: every figure of docs/performance.md, over real Redis on loopback.
//
//   npx -y pnpm@10.34.9 bench [--only decisions,http,redis,in-process,growth] [--rounds n] [--quick] [--json] [--save]
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { readMachine } from "./machine.mjs";
import { printTargets } from "./targets.mjs";

const SUITES = ["decisions", "http", "redis", "in-process", "growth"];
const RESULTS = join(import.meta.dirname, "../../docs/images/performance.json");

const { values: options } = parseArgs({
  options: {
    only: { type: "string", default: SUITES.join(",") },
    rounds: { type: "string" },
    quick: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
    save: { type: "boolean", default: false },
  },
});
const isQuick = options.quick;
const rounds = Number(options.rounds ?? (isQuick ? 3 : 9));
const chosen = options.only.split(",");
const unknown = chosen.filter((name) => !SUITES.includes(name));
if (unknown.length > 0 || !(rounds >= 1)) {
  console.error(`--only takes ${SUITES.join(", ")}; --rounds a number from 1`);
  process.exit(1);
}
// A page of half a run would tell of two machines.
if (options.save && (isQuick || chosen.length < SUITES.length)) {
  console.error("--save is for full runs");
  process.exit(1);
}
process.on("SIGINT", () => process.exit(130));
process.on("SIGTERM", () => process.exit(143));

const rows = [];
const suites = [];
for (const name of SUITES.filter((suite) => chosen.includes(suite))) {
  const suite = await import(`./suites/${name}.mjs`);
  const from = performance.now();
  const log = (line) => process.stderr.write(`${name}: ${line}\n`);
  rows.push(...(await suite.run({ rounds, isQuick, log })));
  log(`took ${((performance.now() - from) / 1_000).toFixed(0)} s`);
  suites.push(suite);
}

const results = { machine: await readMachine(), rounds, isQuick, rows };
if (options.save) writeFileSync(RESULTS, `${JSON.stringify(results)}\n`);
if (options.json) {
  console.log(JSON.stringify(results, null, 2));
} else {
  console.log(Object.values(results.machine).join(", "));
  for (const { print } of suites) print(rows);
  printTargets(rows);
}
process.exit();
