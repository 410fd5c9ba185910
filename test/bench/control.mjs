// Measures the load on a server when a thousand processes read the control record. Run it alone, after a build:
// node test/bench/control.mjs [processes] [seconds]
import { setTimeout as delay } from "node:timers/promises";
import { createLimiter, gcra } from "@headgate/core";
import { createAdmin } from "@headgate/core/admin";
import { redisStore } from "@headgate/core/redis";
import { startRedis } from "./start-redis.mjs";

const processes = Number(process.argv[2] ?? 1_000);
const seconds = Number(process.argv[3] ?? 20);

/** The decisions of each simulated process; a lease serves most of them locally. */
const PAUSE_MS = 250;

const server = await startRedis({ args: ["--maxclients", "20000"] });
const admin = server.connect();
const limits = gcra({ limit: 1_000_000_000, window: "1000s" });

/** A process has its own client, so it does not share the records that others have read. */
function start(i) {
  const store = redisStore(server.connect());
  const lease = { max: 1_000, ttl: "1m" };
  const limiter = createLimiter({ name: "api", limits, store, lease, storeTimeout: "1m" });
  return { limiter, subject: `subject ${i}` };
}

async function heat({ limiter, subject }) {
  for (let i = 0; i < 100; i += 1) await limiter.consume(subject);
}

async function decide({ limiter, subject }, until) {
  await delay(Math.random() * PAUSE_MS);
  while (performance.now() < until) {
    await limiter.consume(subject);
    await delay(PAUSE_MS);
  }
}

/** Calls and microseconds of a command since the last reset. */
async function statsOf(command) {
  const line = (await admin.info("commandstats"))
    .split("\r\n")
    .find((one) => one.startsWith(`cmdstat_${command}:`));
  const [, calls = 0, usec = 0] = /calls=(\d+),usec=(\d+)/.exec(line ?? "") ?? [];
  return { calls: Number(calls), usec: Number(usec) };
}

async function measure(fleet, what) {
  await admin.config("RESETSTAT");
  await Promise.all(fleet.map((one) => decide(one, performance.now() + seconds * 1_000)));
  const [scripts, reads] = await Promise.all(["evalsha", "getrange"].map(statsOf));
  const perSecond = (number) => (number / seconds).toFixed(0);
  const share = (scripts.usec / seconds / 10_000).toFixed(2);
  console.log(
    `${what}: ${perSecond(reads.calls)} reads among ${perSecond(scripts.calls)} scripts a second, which took ${share} % of a core, ${(scripts.usec / scripts.calls).toFixed(1)} µs each`,
  );
}

const fleet = Array.from({ length: processes }, (_, i) => start(i));
for (let i = 0; i < fleet.length; i += 50) await Promise.all(fleet.slice(i, i + 50).map(heat));

const operator = createAdmin(redisStore(admin));
await measure(fleet, "without a record");
await operator.setOverride({ limiter: "other", shadow: true });
await measure(fleet, "with one override");
for (let i = 0; i < 200; i += 1) {
  const subject = { default: `2001:db8:0:${i.toString(16)}::` };
  await operator.setOverride({ limiter: "other", subject, limits: { "100-per-1m": { limit: 5 } } });
}
await measure(fleet, "with 201 overrides");
const changing = setInterval(() => void operator.reset({ name: "other", limits }, "ann"), 1_000);
await measure(fleet, "with 201 overrides and a change each second");
clearInterval(changing);
const { length } = (await admin.get("hg:{control}")) ?? "";
console.log(`the record of 201 overrides has ${length} bytes`);
process.exit();
