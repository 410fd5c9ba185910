// Prints as JSON how often each function of our sources is called for one allowed request: on each framework, in memory and on the Redis
// whose socket is the argument.
import { once } from "node:events";
import { get } from "node:http";
import { Session } from "node:inspector/promises";
import { register } from "node:module";
import { setImmediate } from "node:timers/promises";
import { Redis } from "ioredis";

register("./transpile.mjs", import.meta.url);
const { gcra } = await import("@headgate/core");
const { redisStore } = await import("@headgate/core/redis");

/** Requests that are made before: queues, caches and hidden classes are then as they stay. */
const WARMING = 20;

/** Something that runs each second may fall into one request, or spare it a call, but not most. */
const MEASURED = 15;

const SOURCE = /\/packages\/(\w+\/src\/.+\.ts)$/;

const redis = new Redis(process.argv[2]);
const limits = gcra({ limit: 1_000_000, window: "1h" });
const PLACES = {
  memory: { name: "path", limits },
  redis: { name: "path", limits, store: redisStore(redis, { prefix: "path" }) },
};

async function startExpress(options) {
  const { default: express } = await import("express");
  const { rateLimit } = await import("@headgate/express");
  const app = express();
  app.use(rateLimit(options));
  app.get("/", (_, response) => response.json({ ok: true }));
  const server = app.listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}

async function startFastify(options) {
  const { default: fastify } = await import("fastify");
  const { default: headgate } = await import("@headgate/fastify");
  const app = fastify();
  await app.register(headgate, options);
  app.get("/", async () => ({ ok: true }));
  await app.listen({ port: 0, host: "127.0.0.1" });
  return app.server;
}

/** Resolves when the response has arrived and is over, and what follows from it has run. */
async function sendRequest(server) {
  const { port } = server.address();
  const served = new Promise((resolve) => {
    server.once("request", (_, answer) => answer.once("close", resolve));
  });
  const [response] = await once(get({ host: "127.0.0.1", port, agent: false }), "response");
  if (response.statusCode !== 200) throw new Error(`answered ${response.statusCode}`);
  response.resume();
  await Promise.all([once(response, "end"), served]);
  await setImmediate();
}

/** The calls since the last time, by file and function. */
async function takeCalls(session) {
  const { result } = await session.post("Profiler.takePreciseCoverage");
  return result.flatMap(({ url, functions }) => {
    const file = SOURCE.exec(url)?.[1];
    if (file === undefined) return [];
    return functions
      .map(({ functionName, ranges: [{ count }] }) => ({ file, name: functionName, count }))
      .filter(({ count }) => count > 0);
  });
}

const callsOf = (functions) => functions.reduce((sum, { count }) => sum + count, 0);

async function measure(session, server) {
  for (let i = 0; i < WARMING; i += 1) await sendRequest(server);
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  const measured = [];
  // The first one warms the counters.
  for (let i = 0; i <= MEASURED; i += 1) {
    await takeCalls(session);
    await sendRequest(server);
    measured.push(await takeCalls(session));
  }
  await session.post("Profiler.stopPreciseCoverage");
  const sorted = measured.slice(1).sort((one, other) => callsOf(one) - callsOf(other));
  return sorted[Math.floor(MEASURED / 2)];
}

const session = new Session();
session.connect();
await session.post("Profiler.enable");
const results = {};
for (const [place, options] of Object.entries(PLACES)) {
  results[`express ${place}`] = await measure(session, await startExpress(options));
  results[`fastify ${place}`] = await measure(session, await startFastify(options));
}
process.stdout.write(JSON.stringify(results), () => process.exit(0));
