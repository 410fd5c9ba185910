// The benchmarks: every figure of test/bench/FIGURES.md, over real Redis on loopback.
//
//   npx -y pnpm@10.34.9 bench [--only decisions,http,redis,in-process,processes,growth] [--rounds n] [--quick] [--json] [--save]
import { parseArgs } from "node:util";
import { keepRun } from "./keep-run.mjs";
import { readMachine } from "./machine.mjs";
import { printTable } from "./print.mjs";
import { run as decisions } from "./suites/decisions.mjs";
import { run as growth } from "./suites/growth.mjs";
import { run as http } from "./suites/http.mjs";
import { run as inProcess } from "./suites/in-process.mjs";
import { run as processes } from "./suites/processes.mjs";
import { run as redis } from "./suites/redis.mjs";
import { tablesOf } from "./tables/all.mjs";

const SUITES = { decisions, http, redis, "in-process": inProcess, processes, growth };
const NAMES = Object.keys(SUITES);

const { values: options } = parseArgs({
  options: {
    only: { type: "string", default: NAMES.join(",") },
    rounds: { type: "string" },
    quick: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
    save: { type: "boolean", default: false },
  },
});
const isQuick = options.quick;
const rounds = Number(options.rounds ?? (isQuick ? 3 : 7));
const chosen = options.only.split(",");
const unknown = chosen.filter((name) => !NAMES.includes(name));
if (unknown.length > 0 || !(rounds >= 1)) {
  console.error(`--only takes ${NAMES.join(", ")}; --rounds a number from 1`);
  process.exit(1);
}
// A page of two runs would compare figures that were not measured together.
if (options.save && NAMES.some((name) => !chosen.includes(name))) {
  console.error("--save is for runs of all suites");
  process.exit(1);
}
process.on("SIGINT", () => process.exit(130));
process.on("SIGTERM", () => process.exit(143));

const rows = [];
for (const name of NAMES.filter((suite) => chosen.includes(suite))) {
  const from = performance.now();
  const log = (line) => process.stderr.write(`${name}: ${line}\n`);
  rows.push(...(await SUITES[name]({ rounds, isQuick, log })));
  log(`took ${((performance.now() - from) / 1_000).toFixed(0)} s`);
}

const results = { machine: await readMachine(), rounds, isQuick, rows };
if (options.save) keepRun(results);
if (options.json) {
  console.log(JSON.stringify(results, null, 2));
} else {
  console.log(Object.values(results.machine).join(", "));
  for (const table of tablesOf(rows)) printTable(table);
}
process.exit();
