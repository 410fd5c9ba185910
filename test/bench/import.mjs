// How long the import of a package takes in a new process, compared with other limiters'. Run by itself, after a build:
// node test/bench/import.mjs [runs]
import { execFileSync } from "node:child_process";
import { median } from "./statistics.mjs";

const runs = Number(process.argv[2] ?? 11);

/** Pairs of ours and a peer that does the same. */
const PAIRS = [
  ["@headgate/express", "express-rate-limit"],
  ["@headgate/fastify", "@fastify/rate-limit"],
  ["@headgate/core", "rate-limiter-flexible"],
];

const WAYS = {
  import: ["module", (name) => `await import("${name}")`],
  require: ["commonjs", (name) => `require("${name}")`],
};

/** Milliseconds of time and of CPU. */
function load(way, name) {
  const [type, statement] = WAYS[way];
  const program = `
    const cpu = process.cpuUsage(), began = performance.now();
    ${statement(name)};
    const { user, system } = process.cpuUsage(cpu);
    process.stdout.write(JSON.stringify([performance.now() - began, (user + system) / 1_000]));`;
  const args = [`--input-type=${type}`, "--eval", program];
  return JSON.parse(execFileSync(process.execPath, args, { cwd: import.meta.dirname }));
}

for (const way of Object.keys(WAYS)) {
  for (const pair of PAIRS) {
    const times = pair.map(() => []);
    // Interleaved, so that both meet the same machine.
    for (let run = 0; run < runs; run += 1) {
      for (const [i, name] of pair.entries()) times[i].push(load(way, name));
    }
    const figures = ["time", "CPU"].map((what, kind) => {
      const [ours, theirs] = times.map((all) => median(all.map((figures) => figures[kind])));
      return `${what} ${(ours / theirs).toFixed(2)} (${ours.toFixed(1)} / ${theirs.toFixed(1)} ms)`;
    });
    console.log(`${way} ${pair.join(" / ")}: ${figures.join(", ")}`);
  }
}
