// The same calls with Headgate, Bottleneck's cluster mode and a retrying fetch, by eight processes on one Redis, against the mock
// providers. With --write, keeps the results in results.json, and writes their table into docs/how-to/call-another-api.md.
//
//   npx -y pnpm@10.34.9 calls:peers [--write] [--only "a bucket"]
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { parseArgs } from "node:util";
import { replaceBetween } from "../../../scripts/replace-between.mjs";
import { auditCalls, startFleet } from "../fleet/fleet.mjs";
import { startServer } from "./redis.mjs";
import { SCENARIOS } from "./scenarios.mjs";
import { formatComparison, PAGE, RESULTS } from "./table.mjs";

/** A call that has no answer by then is lost. */
const DEADLINE_MS = 60_000;

const TOOLS = ["headgate", "bottleneck", "retrying"];

/** For each of eight processes; and the processes of a busy machine must not look like an outage. */
const HEADGATE = { localShare: 1 / 8, storeTimeout: "1s", connectTimeout: "20s" };

const { values: given } = parseArgs({
  options: { write: { type: "boolean" }, only: { type: "string", default: "" } },
});

async function measure(fleet, scenario, tool) {
  const redis = await startServer();
  const api = await scenario.start();
  const name = `${tool}-${scenario.name}`.replaceAll(/\W+/g, "-");
  const options = { ...(tool === "headgate" && HEADGATE), ...scenario.tools[tool] };
  const setup = { tool, redis: redis.socket, name, ...options };
  await fleet.open(setup);
  await scenario.before?.({ api, fleet });
  if (scenario.before) {
    // The process that takes the place of the killed one has no caller yet.
    await fleet.openOne(0, setup);
    api.arrivals.length = 0;
  }
  let isOver = false;
  const during = scenario.during?.({ api, redis, isOver: () => isOver });
  const calls = scenario.calls(api);
  const startedAt = performance.timeOrigin + performance.now();
  const outcomes = await fleet.run(calls, DEADLINE_MS);
  isOver = true;
  await during;
  const endedAt = Math.max(...outcomes.flatMap(({ at, status }) => (status < 300 ? at : [])));
  await fleet.closeCallers();
  await api.stop();
  await redis.close();
  const own = api.arrivals.filter(({ headers }) => headers["x-call"] !== undefined);
  return { tool, seconds: (endedAt - startedAt) / 1_000, ...auditCalls(calls, outcomes, own) };
}

const rows = [];
const fleet = await startFleet();
for (const scenario of SCENARIOS.filter(({ name }) => name.includes(given.only))) {
  for (const tool of TOOLS) {
    const row = { scenario: scenario.name, ...(await measure(fleet, scenario, tool)) };
    process.stderr.write(`${JSON.stringify(row)}\n`);
    rows.push(row);
  }
}
await fleet.stop();

const versionOf = (name) => createRequire(import.meta.url)(`${name}/package.json`).version;
const results = { bottleneck: versionOf("bottleneck"), node: process.version, rows };
const table = formatComparison(results);
console.log(table);
if (given.write && given.only === "") {
  writeFileSync(RESULTS, `${JSON.stringify(results, null, 2)}\n`);
  writeFileSync(PAGE, replaceBetween(readFileSync(PAGE, "utf8"), "calls", table));
}
process.exit();
