import assert from "node:assert/strict";
import { createLimiter, gcra } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { observe } from "@headgate/telemetry";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import { Registry } from "prom-client";
import { openClient } from "../clients.mjs";
import { makeLimiter } from "../limiters/catalogue.mjs";
import { ALGORITHMS, makeHeadgate } from "../limiters/headgate.mjs";

const HOUR = 3_600_000;
const SUBJECTS = 1_000;
const QUOTA = { limit: 1_000_000_000, windowMs: HOUR };
/** Names are built in advance, so that only the decision is measured. */
const NAMES = Array.from({ length: SUBJECTS }, (_, i) => `user-${i}`);

/** Each makes a call that answers in this process, for the i-th time. `sourceOf` tells who answered, where there is a choice. */
export const CALLS = {
  "the loop itself": () => {
    const answer = { allowed: true };
    return { call: async () => answer };
  },
  ...Object.fromEntries(
    Object.keys(ALGORITHMS)
      // The log keeps every request; its memory is what it promises.
      .filter((algorithm) => algorithm !== "slidingLog")
      .map((algorithm) => [`memory, ${algorithm}`, () => inMemory(algorithm, [QUOTA])]),
  ),
  "memory, gcra, 3 limits": () =>
    inMemory(
      "gcra",
      [1, 2, 3].map((hours) => ({ ...QUOTA, windowMs: hours * HOUR })),
    ),
  "memory, gcra, denied": () => inMemory("gcra", [{ limit: 1, windowMs: HOUR }]),
  "memory, gcra, observed for prom-client": () => observed(new Registry()),
  "memory, gcra, observed for OpenTelemetry": () => observed(makeMeter()),
  "deny-cache hit": denied,
  "lease hit": leased,
  "express-rate-limit, memory": () => peer("express-rate-limit, memory"),
  "@fastify/rate-limit, memory": () => peer("@fastify/rate-limit, memory"),
  "rate-limiter-flexible, memory": () => peer("rate-limiter-flexible, memory"),
};

function inMemory(algorithm, quotas) {
  const limiter = createLimiter({
    limits: quotas.map(({ limit, windowMs }) => ALGORITHMS[algorithm](limit, windowMs)),
  });
  return { call: (i) => limiter.consume(NAMES[i % SUBJECTS]), close: () => limiter.close() };
}

function observed(target) {
  observe(target);
  return inMemory("gcra", [QUOTA]);
}

/** One whose values are read, as by an exporter; without a reader nothing would be kept. */
function makeMeter() {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: HOUR });
  return new MeterProvider({ readers: [reader] }).getMeter("bench");
}

async function denied(port) {
  const client = await openClient("ioredis", port);
  const limiter = createLimiter({
    name: "denied",
    limits: gcra({ limit: 1, window: HOUR }),
    store: redisStore(client),
    storeTimeout: "10s",
  });
  await limiter.consume("user-1");
  return {
    call: () => limiter.consume("user-1"),
    isWanted: ({ source }) => source === "deny-cache",
  };
}

async function leased(port) {
  const client = await openClient("ioredis", port);
  const { consume } = makeHeadgate(
    { client, quotas: [QUOTA], prefix: "leased" },
    { lease: { max: 10_000, ttl: "1s" } },
  );
  return { call: () => consume("user-1"), isWanted: ({ source }) => source === "lease" };
}

async function peer(name) {
  const limiter = await makeLimiter(name, { quotas: [{ ...QUOTA, limit: 1_000_000_000 }] });
  assert.ok(limiter.isAllowed(await limiter.consume(NAMES[0])));
  return { call: (i) => limiter.consume(NAMES[i % SUBJECTS]) };
}
