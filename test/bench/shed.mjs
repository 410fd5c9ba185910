// Load shedding beside none, @fastify/under-pressure and toobusy-js: a Fastify server, and clients in a process of their own that send
// requests whether or not earlier ones were answered. Takes under six minutes, and a machine with two quiet cores.
//
//   npx -y pnpm@10.34.9 build
//   node test/bench/shed.mjs [--quick] [--save]      --save keeps the run and draws docs/images/shedding.svg
import { join } from "node:path";
import { parseArgs } from "node:util";
import { keepShedding } from "./keep-run.mjs";
import { readMachine } from "./machine.mjs";
import { startProcess } from "./other-process.mjs";
import { printTable } from "./print.mjs";
import { measureInRounds } from "./rounds.mjs";
import { measureShedding } from "./shed/measure.mjs";
import { tablesOf } from "./shed/tables.mjs";

const { values: options } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    save: { type: "boolean", default: false },
  },
});
const isQuick = options.quick;
const CALM_CALLS = isQuick ? 10_000 : 50_000;
const ROUNDS = isQuick ? 3 : 7;

process.on("SIGINT", () => process.exit(130));
process.on("SIGTERM", () => process.exit(143));

/** What a call costs while the server is calm, by contender: microseconds of each round. */
async function measureCalmCost() {
  const child = await startProcess(join(import.meta.dirname, "shed/calm-cost.mjs"), {});
  const subjects = ["none", "toobusy-js", "Headgate"].map((name) => ({
    row: { name },
    measure: async () => ({ micros: await child.call("measure", name, CALM_CALLS) }),
  }));
  const rows = await measureInRounds({ rounds: ROUNDS, isQuick }, subjects);
  await child.close();
  return Object.fromEntries(rows.map(({ name, micros }) => [name, micros]));
}

const startedAt = performance.now();
const log = (line) => process.stderr.write(`${line}\n`);
const rows = await measureShedding({ isQuick, log });
const calm = await measureCalmCost();
log(`took ${((performance.now() - startedAt) / 1_000).toFixed(0)} s`);
const { processor, node } = await readMachine();
const run = { machine: { processor, node }, isQuick, rows, calm };
if (options.save) keepShedding(run);
console.log(`${processor}, ${node}`);
for (const table of tablesOf(run)) printTable(table);
process.exit();
