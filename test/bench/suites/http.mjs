import assert from "node:assert/strict";
import { join } from "node:path";
import { VARIANTS as EXPRESS } from "../http/express.mjs";
import { VARIANTS as FASTIFY } from "../http/fastify.mjs";
import { VARIANTS as HONO } from "../http/hono.mjs";
import { load } from "../http/load.mjs";
import { VARIANTS as NESTJS } from "../http/nestjs.mjs";
import { LIMITS } from "../http/policy.mjs";
import { startProcess } from "../other-process.mjs";
import { measureInRounds } from "../rounds.mjs";
import { cpuOf, startRedis } from "../start-redis.mjs";
import { quantile } from "../statistics.mjs";

const FILE = join(import.meta.dirname, "../http/application.mjs");
const FRAMEWORKS = { fastify: FASTIFY, express: EXPRESS, hono: HONO, nestjs: NESTJS };
const CONNECTIONS = 64;
const DURATION_MS = 500;
const QUICK_DURATION_MS = 250;
/** Express is not compiled to the end before some ten thousand requests. */
const WARM_UP_MS = 2_000;
const QUICK_WARM_UP_MS = 500;

/** Headers of a limiter; an application sends the others by itself. */
const LIMITER_HEADERS = /^(x-ratelimit|ratelimit|retry-after$|cache-control$)/;

/** Every application in a process of its own, loaded in turns by this process. */
export async function run({ rounds, isQuick, log }) {
  const redis = await startRedis();
  const durationMs = isQuick ? QUICK_DURATION_MS : DURATION_MS;
  const rows = [];
  for (const framework of Object.keys(FRAMEWORKS)) {
    log(framework);
    const applications = await startAll(framework, redis.port);
    for (const application of applications) {
      await measure(application, redis.control, isQuick ? QUICK_WARM_UP_MS : WARM_UP_MS);
    }
    rows.push(
      ...(await measureInRounds(
        { rounds, isQuick },
        applications.map((application) => ({
          row: application.row,
          measure: () => measure(application, redis.control, durationMs),
        })),
      )),
    );
    for (const { child } of applications) await child.close();
  }
  await redis.close();
  return rows;
}

async function startAll(framework, redisPort) {
  const applications = [];
  async function start(variant, outcome, constants) {
    const key = `${framework}-${variant}-${outcome}`.replace(/[^\w.-]/g, "_");
    const setup = { framework, variant, key, redisPort, limit: LIMITS[outcome], constants };
    const child = await startProcess(FILE, setup);
    const port = await child.call("port");
    const row = { suite: "http", framework, name: variant, outcome };
    applications.push({ row, child, port });
    return port;
  }

  for (const outcome of Object.keys(LIMITS)) {
    const port = await start("Headgate, memory", outcome);
    // Headgate must send the same headers as the constants.
    const constants = await readConstants(port, outcome);
    const constantPort = await start("constants", outcome, constants);
    const repeated = await readConstants(constantPort, outcome);
    assert.deepEqual(namesIn(repeated), namesIn(constants));
    assert.equal(repeated.body, constants.body);
    for (const variant of FRAMEWORKS[framework]) {
      if (["Headgate, memory", "constants"].includes(variant)) continue;
      if (variant !== "bare") await fetch(`http://127.0.0.1:${await start(variant, outcome)}`);
      else if (outcome === "allowed") await start(variant, outcome);
    }
  }
  return applications;
}

/** A denial is the second answer. */
async function readConstants(port, outcome) {
  const url = `http://127.0.0.1:${port}`;
  await (await fetch(url)).text();
  const response = await fetch(url);
  assert.equal(response.status, statusOf(outcome));
  const isOfLimiter = ([name]) =>
    LIMITER_HEADERS.test(name) || (outcome === "denied" && name === "content-type");
  const headers = [...response.headers].filter(isOfLimiter);
  return { status: response.status, headers, body: await response.text() };
}

function namesIn({ headers }) {
  return headers.map(([name]) => name).sort();
}

function statusOf(outcome) {
  return outcome === "allowed" ? 200 : 429;
}

async function measure({ child, port, row }, control, durationMs) {
  const redisFrom = await cpuOf(control);
  const cpuFrom = await child.call("cpuMicroseconds");
  const status = statusOf(row.outcome);
  const { perSecond, latencies } = await load({
    port,
    connections: CONNECTIONS,
    durationMs,
    status,
  });
  const cpu = (await child.call("cpuMicroseconds")) - cpuFrom;
  const redisCpu = row.name.endsWith("Redis") ? (await cpuOf(control)) - redisFrom : 0;
  return {
    perSecond,
    p50: quantile(latencies, 0.5),
    p99: quantile(latencies, 0.99),
    serverMicroseconds: cpu / latencies.length,
    redisMicroseconds: redisCpu / latencies.length,
    serverBusy: (cpu / latencies.length / 1e6) * perSecond,
  };
}
