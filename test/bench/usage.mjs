// Measures the cost of usage: for a decision, and for the server when a thousand processes send their counts. Run it alone, after a build:
// node test/bench/usage.mjs [processes] [limiters]
import { createHash, randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createLimiter, gcra } from "@headgate/core";
import { readUsage } from "@headgate/core/admin";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { scriptTime, startRedis } from "./start-redis.mjs";
import { median } from "./statistics.mjs";

const processes = Number(process.argv[2] ?? 1_000);
const limitersOfEach = Number(process.argv[3] ?? 10);

const ROUNDS = 31;
const CALLS = 20_000;
const SUBJECTS = 10_000;

const server = await startRedis();

/** Denials from the deny cache: the shortest way of a decision on Redis, all of it in this process. */
async function startDenied(prefix, usage) {
  const store = redisStore(new Redis(server.port), { prefix, usage, registry: false });
  const limits = gcra({ limit: 1, window: "10h", per: "global" });
  const limiter = createLimiter({ name: "api", limits, store, storeTimeout: "10s" });
  for (let i = 0; i < 3; i += 1) await limiter.consume({ global: "*" });
  return limiter;
}

/** Limiters that count their subjects: a few frequent ones, or new ones in each call. */
async function startAllowed(prefix, usage) {
  const store = redisStore(new Redis(server.port), { prefix, usage, registry: false });
  const limits = gcra({ limit: 1_000_000, window: "1000s" });
  const lease = { max: 1_000_000, ttl: "1m" };
  const limiter = createLimiter({ name: "api", limits, store, storeTimeout: "10s", lease });
  for (let i = 0; i < 1_000; i += 1) await limiter.consume("ann");
  return limiter;
}

const globalSubject = () => ({ global: "*" });
const ann = () => "ann";
const cases = [
  ["a denial in memory, without usage", await startDenied("a", false), globalSubject],
  ["a denial in memory, with usage", await startDenied("b", true), globalSubject],
  ["a lease's, without usage", await startAllowed("c", false), ann],
  ["a lease's, with usage", await startAllowed("d", true), ann],
].map(([name, limiter, subjectOf]) => ({ name, limiter, subjectOf, times: [] }));

async function consume({ limiter, subjectOf }, calls) {
  for (let i = 0; i < calls; i += 1) await limiter.consume(subjectOf(i));
}

for (let round = 0; round < ROUNDS; round += 1) {
  for (const one of cases) {
    await consume(one, CALLS / 4);
    const from = performance.now();
    await consume(one, CALLS);
    one.times.push(((performance.now() - from) * 1e6) / CALLS);
    await new Promise((resolve) => setImmediate(resolve));
  }
}
for (const { name, times } of cases) console.log(`${name}: ${median(times).toFixed(0)} ns`);
await Promise.all(cases.map(({ limiter }) => limiter.close()));

/** A process sends numbers and subjects so often, in seconds, on average: usage/usage-counter.ts. */
const EVERY = 4.5;
const SUBJECTS_EVERY = 28.1 + EVERY / 2;

/** The lists of a process: Zipf traffic, of which it sees so many decisions between them. */
const DECISIONS = 3_000;
const hashes = Array.from({ length: SUBJECTS }, (_, i) =>
  createHash("sha256").update(String(i)).digest("base64url").slice(0, 16),
);
const sums = [];
for (let rank = 1; rank <= SUBJECTS; rank += 1) sums.push((sums.at(-1) ?? 0) + 1 / rank);

function listOf(decisions) {
  const counts = new Map();
  for (let i = 0; i < decisions; i += 1) {
    const at = Math.random() * sums.at(-1);
    const rank = sums.findIndex((sum) => sum >= at);
    counts.set(rank, (counts.get(rank) ?? 0) + 1);
  }
  const sorted = [...counts].sort(([, one], [, other]) => other - one);
  const missed = sorted[64]?.[1] ?? 0;
  const flat = sorted
    .slice(0, 64)
    .flatMap(([rank, count]) => [`default#${hashes[rank]}`, count, 0]);
  return JSON.stringify([missed, decisions, ...flat]);
}

const admin = new Redis(server.port);
await admin.flushall();
const ids = Array.from({ length: limitersOfEach }, () => randomBytes(12).toString("base64url"));
const tops = Array.from({ length: 50 }, () => [listOf(DECISIONS), listOf(DECISIONS / 10)]);
// The script is what a process sends: its text was loaded by those above.
const generated = join(import.meta.dirname, "../../packages/core/src/usage/lua.generated.ts");
const [, embedded] = /usageLua[^`]*`([^`]*)`/.exec(readFileSync(generated, "utf8"));
const usageLua = embedded.replaceAll("\\\\", "\\");
const usageSha1 = await admin.script("LOAD", usageLua);
const SPAN = 600;
const now = Math.floor(Date.now() / 1_000);
let sentBytes = 0;
let sends = 0;

/** Each limiter's lists are in a share of the calls. */
async function send(name, number, share) {
  const day = Math.floor(now / 86_400);
  const span = Math.floor(now / SPAN);
  const daysOf = (id) => [day - 1, day].map((one) => `hg:{usage}:day/${id}/${one}`);
  const lists = [day - 1, day].map((one) => `hg:{usage}:days/${one}`);
  const keys = ["hg:{usage}", `hg:{usage}:process/${name}`, "hg:{usage}:series/other"];
  keys.push(...lists, ...daysOf("other"));
  const args = ["", "0", "1", number, Date.now() * 1_000, ids.length];
  for (const id of ids) {
    sends += 1;
    const isDue = Math.random() < share;
    const [used, denied] = isDue ? tops[sends % tops.length] : ["", ""];
    const limits = isDue ? '{"default minute":40,"default day":10}' : "";
    keys.push(`hg:{usage}:series/${id}`, `hg:{usage}:top/${id}/${span}`);
    if (isDue) keys.push(`hg:{usage}:limits/${id}/${span}`, ...daysOf(id));
    args.push(id, id, `${Math.floor(Date.now() / 10_000)} 500 50 0`, used, denied, limits);
  }
  sentBytes += args.join("").length + keys.join("").length;
  return admin.evalsha(usageSha1, keys.length, ...keys, ...args.map(String));
}

const names = Array.from({ length: processes }, () => randomBytes(12).toString("base64url"));
const SEND_ROUNDS = 5;
let number = 0;

/** Microseconds of the server in a call of each process: the least of some rounds, to which others on this machine add the least. */
async function timeOf(share) {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < SEND_ROUNDS; round += 1) {
    number += 1;
    await admin.config("RESETSTAT");
    for (const name of names) await send(name, number, share);
    const { calls, microseconds } = await scriptTime(admin);
    least = Math.min(least, microseconds / calls);
  }
  return least;
}

const full = await timeOf(1);
sentBytes = 0;
const each = await timeOf(EVERY / SUBJECTS_EVERY);
const bytes = sentBytes / SEND_ROUNDS / names.length;
const share = ((each * processes) / EVERY / 1e6) * 100;
console.log(
  `${processes} processes of ${limitersOfEach} limiters: ${each.toFixed(0)} µs a call, ${share.toFixed(1)} % of a core of the server, ${(bytes / 1024).toFixed(1)} KB each; with all lists ${full.toFixed(0)} µs; with none ${(await timeOf(0)).toFixed(0)} µs`,
);
const from = performance.now();
const { limiters } = await readUsage(admin);
console.log(
  `read in ${(performance.now() - from).toFixed(0)} ms, ${limiters[0]?.subjects.used.top.length} subjects`,
);
process.exit();
