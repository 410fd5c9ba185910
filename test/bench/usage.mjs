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
  return [missed, decisions, ...flat];
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
const now = Math.floor(Date.now() / 1_000);
/** The steps of a call: for each resolution the length of a step and of a period in seconds, and the lifetime in milliseconds. */
const PERIODS = [
  ["seconds", 10, 900, 1_800_000],
  ["minutes", 60, 3_600, 90_000_000],
  ["hours", 3_600, 86_400, 2_678_400_000],
];
const startOf = (length) => Math.floor(now / length) * length;
let sentBytes = 0;
let sends = 0;

/** Each limiter's lists are in a share of the calls. */
async function send(name, number, share) {
  const stepKeys = (id) =>
    PERIODS.map(([kind, , period]) => `hg:{usage}:${kind}/${id}/${startOf(period)}`);
  const keys = ["hg:{usage}", `hg:{usage}:process/${name}`, "hg:blocks{usage}", ...stepKeys("*")];
  const limiters = ids.map((id) => {
    sends += 1;
    const steps = PERIODS.map(([, step], i) => [i + 1, startOf(step), 500, 50, 0]);
    keys.push(...stepKeys(id));
    if (Math.random() >= share) return { name: id, steps };
    const kinds = ["used", "denied", "bounds", "denials"];
    keys.push(...kinds.map((kind) => `hg:{usage}:${kind}/${id}/${startOf(600)}`));
    keys.push(`hg:{usage}:day-denials/${id}/${startOf(86_400)}`);
    const [used, denied] = tops[sends % tops.length];
    return { name: id, steps, used, denied, denials: { "default minute": 40, "default day": 10 } };
  });
  const ttls = PERIODS.map(([, , , ttl]) => ttl);
  const call = { number, clock: Date.now() * 1_000, ttls, blocks: [], limiters };
  const args = ["", "0", "1", JSON.stringify(call)];
  sentBytes += args.join("").length + keys.join("").length;
  return admin.evalsha(usageSha1, keys.length, ...keys, ...args);
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
