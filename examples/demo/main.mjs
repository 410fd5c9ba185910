// A shop of two processes, one on Fastify and one on Express, with traffic, an attacker and the dashboard. Ctrl-C ends all of it.
//
//   npx -y pnpm@10.34.9 demo
import { fork } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { join } from "node:path";
import { createLimiter } from "@headgate/core";
import { createAdmin } from "@headgate/core/admin";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { API } from "./policies.mjs";
import { startRedis } from "./redis.mjs";
import { startTraffic } from "./traffic.mjs";

const interrupted = Promise.race(
  ["SIGINT", "SIGTERM", "SIGHUP"].map((name) => once(process, name)),
);

const redis = await startRedis();
if (redis === undefined) {
  console.error(
    "The demo needs Redis: install redis-server or valkey-server (Debian: apt-get install redis-server; macOS: brew install redis), or name one in HEADGATE_REDIS_SERVER.",
  );
  process.exit(1);
}

const shop = ["fastify", "express"].map((framework) =>
  fork(join(import.meta.dirname, "application.mjs"), [framework, redis.url]),
);
const ports = await Promise.all(shop.map(async (child) => (await once(child, "message"))[0]));
await whatOperatorsDid();
const stopTraffic = startTraffic(ports);

const command = createRequire(import.meta.url).resolve("@headgate/cli/package.json");
const dashboard = fork(
  join(command, "../bin/headgate.js"),
  [
    "dashboard",
    "--redis",
    redis.url,
    "--by",
    "you@example.com",
    "--no-open",
    ...process.argv.slice(2),
  ],
  {
    stdio: ["ignore", "pipe", "ignore", "ipc"],
    execArgv: ["--import", join(import.meta.dirname, "end-with-parent.mjs")],
  },
);
const [link] = await once(/** @type {import("node:stream").Readable} */ (dashboard.stdout), "data");
console.log(
  "A shop of two processes, with traffic, an attacker and an upstream that fails now and then.",
);
console.log(`Open its dashboard (this link works once):\n\n  ${`${link}`.trim()}\n`);
console.log("Ctrl-C ends it.");

await Promise.race([interrupted, once(dashboard, "exit")]);
stopTraffic();
for (const child of [dashboard, ...shop]) {
  const exit = child.exitCode ?? once(child, "exit");
  if (child.connected) child.disconnect();
  await exit;
}
redis.end();
process.exit();

/** Last night: a customer was given room, and a network was shut out. */
async function whatOperatorsDid() {
  const client = new Redis(redis?.url ?? "");
  const store = redisStore(client, { registry: false });
  const admin = createAdmin(store);
  const by = "ann@example.com";
  await admin.setOverride(
    { limiter: "api", subject: { default: "192.0.2.130" }, limits: { minute: { limit: 300 } } },
    { for: "24h", by, reason: "imports its stock tonight" },
  );
  await admin.addToDenyList("198.51.100.128/25", { for: "7d", by, reason: "scans for scripts" });
  const limiter = { name: "api", limits: API };
  await createLimiter({ ...limiter, store }).consume("192.0.2.66", { cost: 20 });
  await admin.reset(limiter, "192.0.2.66", { by, reason: "asked by their support" });
  client.disconnect();
}
