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
import { LOOP } from "./net.mjs";

const HOUR = 3_600_000;
const SUBJECTS = 1_000;
const MANY = 100_000;
const QUOTA = { limit: 1_000_000_000, windowMs: HOUR };

/**
 * For figures about keys: a unit recovers in three minutes, so that no key ends meanwhile. The window fits a timer, which some
 * limiters set for it.
 */
const LASTING = { limit: 10_000, windowMs: 500 * HOUR };

/** The limiters in memory that are also measured with many keys, and whose memory for each key is. */
export const PER_KEY = {
  "memory, gcra": () => inMemory("gcra", [LASTING]),
  "memory, fixedWindow": () => inMemory("fixedWindow", [LASTING]),
  "express-rate-limit, memory": () => peer("express-rate-limit, memory"),
  "hono-rate-limiter, memory": () => peer("hono-rate-limiter, memory"),
  "rate-limiter-flexible, memory": () => peer("rate-limiter-flexible, memory"),
};

/** Each makes a limiter that answers in this process. `isWanted` tells who answered, where there is a choice. */
const LIMITERS = {
  // An awaited call that does nothing: what every other call takes as well.
  [LOOP]: () => {
    const answer = { allowed: true };
    return { consume: async () => answer };
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
  "@fastify/rate-limit, memory": () => peer("@fastify/rate-limit, memory"),
  ...PER_KEY,
};

/** What is measured, by its name: a limiter, and the number of subjects that its calls have. */
export const CALLS = {
  ...Object.fromEntries(
    Object.entries(LIMITERS).map(([name, make]) => [name, { make, subjects: SUBJECTS }]),
  ),
  ...Object.fromEntries(
    Object.entries({ ...PER_KEY, [LOOP]: LIMITERS[LOOP] }).map(([name, make]) => [
      `${name}, 100,000 keys`,
      { make, subjects: MANY },
    ]),
  ),
};

function inMemory(algorithm, quotas) {
  const limiter = createLimiter({
    limits: quotas.map(({ limit, windowMs }) => ALGORITHMS[algorithm](limit, windowMs)),
  });
  return { consume: (subject) => limiter.consume(subject) };
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
    consume: () => limiter.consume("user-1"),
    isWanted: ({ source }) => source === "deny-cache",
  };
}

async function leased(port) {
  const client = await openClient("ioredis", port);
  const { consume } = makeHeadgate(
    { client, quotas: [QUOTA], prefix: "leased" },
    { lease: { max: 10_000, ttl: "1s" } },
  );
  return { consume: () => consume("user-1"), isWanted: ({ source }) => source === "lease" };
}

async function peer(name) {
  const limiter = await makeLimiter(name, { quotas: [LASTING] });
  assert.ok(limiter.isAllowed(await limiter.consume("user-0")));
  return limiter;
}
