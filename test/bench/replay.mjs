// How fast `headgate replay` is, and what memory it takes: `node test/bench/replay.mjs [--lines N]`, after a build. It needs GNU time.
// goaccess, where it is installed, reads the same logs: it parses and counts, and does not limit.
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { createWriteStream, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";

const { values } = parseArgs({ options: { lines: { type: "string", default: "10000000" } } });
const LINES = Number(values.lines);
if (!Number.isSafeInteger(LINES) || LINES < 1) throw new Error("--lines takes a whole number");

const HEADGATE = join(import.meta.dirname, "../../packages/cli/dist/esm/headgate.js");
const START = Date.UTC(2026, 2, 3);
const DAY_SECONDS = 86_400;
const CLIENTS = [300_000, 1_500_000];

const gcra = { algorithm: "gcra", limit: 100, window: "1m" };
const POLICIES = {
  "one GCRA": [gcra],
  "three policies": [
    gcra,
    { algorithm: "slidingWindow", limit: 100, window: "1m" },
    { algorithm: "tokenBucket", capacity: 100, refill: 100, every: "1m" },
  ],
};

const dir = mkdtempSync(join(tmpdir(), "headgate-bench-"));
process.on("exit", () => rmSync(dir, { recursive: true }));

/** A day of requests in the combined format: half of them of any client, half mostly of the first ones. The same each time. */
async function writeLog(clients) {
  const file = join(dir, `${clients}.log`);
  const stream = createWriteStream(file);
  let state = 7;
  const random = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  let lines = [];
  for (let i = 0; i < LINES; i += 1) {
    const client = Math.floor((random() < 0.5 ? random() ** 3 : random()) * clients);
    lines.push(lineOf(client, START + Math.floor((i / LINES) * DAY_SECONDS) * 1_000));
    if (lines.length < 10_000) continue;
    if (!stream.write(lines.join(""))) await once(stream, "drain");
    lines = [];
  }
  stream.end(lines.join(""));
  await once(stream, "finish");
  return file;
}

function lineOf(client, time) {
  const address = `10.${client >> 16}.${(client >> 8) & 255}.${client & 255}`;
  const [, day, month, year, clock] = new Date(time).toUTCString().split(" ");
  return `${address} - - [${day}/${month}/${year}:${clock} +0000] "GET /articles/${client % 977} HTTP/1.1" 200 5120 "-" "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"\n`;
}

/** Runs a command to its end, and says what it took; nothing where it is not installed. */
function measure(name, clients, command) {
  if (spawnSync("which", [command[0]]).status !== 0) {
    console.log(`${name}: not installed`);
    return;
  }
  const { status, stderr } = spawnSync("time", ["-f", "took %e %U %S %M", ...command], {
    encoding: "utf8",
    stdio: ["ignore", "ignore", "pipe"],
  });
  const [, took] = /^took (.+)$/m.exec(stderr ?? "") ?? [];
  if (status !== 0 || took === undefined) throw new Error(`${name} failed: ${stderr}`);
  const [seconds, user, system, kilobytes] = took.split(" ").map(Number);
  const processor = user + system;
  console.log(
    `${name}, ${clients.toLocaleString("en-US")} clients: ${perSecond(seconds)} lines a second, ${perSecond(processor)} a processor second (${processor.toFixed(1)} s), at most ${Math.round(kilobytes / 1_024)} MB`,
  );
}

function perSecond(seconds) {
  return Math.round(LINES / seconds).toLocaleString("en-US");
}

for (const clients of CLIENTS) {
  const log = await writeLog(clients);
  console.log(`${LINES.toLocaleString("en-US")} lines, ${Math.round(statSync(log).size / 1e6)} MB`);
  for (const [name, policies] of Object.entries(POLICIES)) {
    const limits = policies.flatMap((limit) => ["--limits", JSON.stringify(limit)]);
    measure(name, clients, [process.execPath, HEADGATE, "replay", log, ...limits, "--json"]);
  }
  const json = join(dir, "goaccess.json");
  const goaccess = ["goaccess", log, "--log-format=COMBINED", "--no-progress", "-o", json];
  measure("goaccess", clients, goaccess);
  rmSync(log);
}
