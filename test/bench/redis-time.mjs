// Redis time per decision, by the server's own statistics (INFO commandstats), side by side with the scripts of other
// limiters. The libraries run as their users run them, each on a client of its own; rounds are interleaved, so that
// a busy machine disturbs all alike. Absolute times are this machine's; the ratios carry over.
//
//   pnpm build && node test/bench/redis-time.mjs [rounds]
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createLimiter, fixedWindow, gcra, slidingLog, slidingWindow } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { RedisStore as RateLimitRedis } from "rate-limit-redis";
import { RateLimiterRedis } from "rate-limiter-flexible";
import { startRedis } from "./start-redis.mjs";

const require = createRequire(import.meta.url);
const FastifyRedisStore = require("@fastify/rate-limit/store/RedisStore.js");

const rounds = Number(process.argv[2] ?? 9);
const CALLS = 4_000;
const AT_ONCE = 64;
const SUBJECTS = 200;

const { connect, control } = await startRedis();

function headgate(name, limits) {
  const limiter = createLimiter({ name, limits, store: redisStore(connect()) });
  return (subject) => limiter.consume(subject);
}

/** Each with plenty of room: what is measured is an admission, which is the dearer answer. */
const LIMIT = 1_000_000;

async function makeSubjects() {
  const empty = connect();
  const bare = connect();
  const rateLimitRedis = new RateLimitRedis({ sendCommand: (...command) => bare.call(...command) });
  await rateLimitRedis.init({ windowMs: 60_000 });
  const fastify = new FastifyRedisStore(false, false, connect(), "fastify-");
  const flexible = new RateLimiterRedis({
    storeClient: connect(),
    points: LIMIT,
    duration: 60,
    keyPrefix: "flexible",
  });
  return {
    "an empty script": (subject) => empty.eval("return {1,0}", 1, subject),
    "Headgate fixedWindow": headgate("fixed", fixedWindow({ limit: LIMIT, window: "1m" })),
    "Headgate gcra": headgate("gcra", gcra({ limit: LIMIT, window: "1m" })),
    "Headgate slidingWindow": headgate("window", slidingWindow({ limit: LIMIT, window: "1m" })),
    "Headgate slidingLog": headgate("log", slidingLog({ limit: LIMIT, window: "1m" })),
    "Headgate, three limits": headgate("three", [
      gcra({ limit: LIMIT, window: "1s" }),
      gcra({ limit: LIMIT, window: "1m" }),
      gcra({ limit: LIMIT, window: "1h" }),
    ]),
    [`rate-limit-redis ${version("rate-limit-redis")} (fixed window)`]: (subject) =>
      rateLimitRedis.increment(subject),
    [`@fastify/rate-limit ${version("@fastify/rate-limit")} (fixed window)`]: (subject) =>
      new Promise((resolve, reject) => {
        fastify.incr(
          subject,
          (error, reply) => (error ? reject(error) : resolve(reply)),
          60_000,
          LIMIT,
        );
      }),
    [`rate-limiter-flexible ${version("rate-limiter-flexible")} (fixed window)`]: (subject) =>
      flexible.consume(subject),
  };
}

function version(name) {
  const manifest = new URL(`../../node_modules/${name}/package.json`, import.meta.url);
  return JSON.parse(readFileSync(manifest, "utf8")).version;
}

async function run(decide, calls) {
  let next = 0;
  const askInTurn = async () => {
    while (next < calls) {
      next += 1;
      await decide(`198.51.100.${next % SUBJECTS}`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, askInTurn));
}

/** Microseconds of the server in scripts, and commands that clients sent, for each call. */
async function measure(decide) {
  await control.config("RESETSTAT");
  await run(decide, CALLS);
  const info = await control.info("commandstats");
  const numbers = [...info.matchAll(/^cmdstat_(?:evalsha|eval):calls=(\d+),usec=(\d+)/gm)];
  const sum = (i) => numbers.reduce((total, match) => total + Number(match[i]), 0);
  return { microseconds: sum(2) / CALLS, scripts: sum(1) / CALLS };
}

function median(numbers) {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];
}

const subjects = await makeSubjects();
for (const decide of Object.values(subjects)) await run(decide, 500);
const results = Object.fromEntries(Object.keys(subjects).map((name) => [name, []]));
for (let round = 0; round < rounds; round += 1) {
  for (const [name, decide] of Object.entries(subjects)) results[name].push(await measure(decide));
}

const info = await control.info("server");
const baseline = median(results["an empty script"].map(({ microseconds }) => microseconds));
console.log(
  `Redis ${/redis_version:(\S+)/.exec(info)?.[1]}, Node ${process.version}, median of ${rounds} rounds of ${CALLS} decisions`,
);
console.log("µs of Redis per decision | × an empty script | scripts per decision");
for (const [name, rows] of Object.entries(results)) {
  const microseconds = median(rows.map((row) => row.microseconds));
  const [{ scripts }] = rows;
  console.log(
    `${name.padEnd(48)} ${microseconds.toFixed(2).padStart(6)} ${(microseconds / baseline).toFixed(2).padStart(6)} ${scripts.toFixed(2).padStart(5)}`,
  );
}
process.exit();
