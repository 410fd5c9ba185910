// Measures the cost of the registry and of control for a decision: `node test/bench/operating.mjs`, after a build.
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { CHANNELS, createLimiter, gcra } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { observe } from "@headgate/telemetry";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import { Redis } from "ioredis";
import { Registry } from "prom-client";
import { startRedis } from "./start-redis.mjs";
import { median } from "./statistics.mjs";

const ROUNDS = 61;
const CALLS = 20_000;
const limits = gcra({ limit: 1, window: "10h" });

const server = await startRedis();
const clients = [new Redis(server.port), new Redis(server.port)];
const alone = redisStore(clients[0], { prefix: "alone", registry: false });
const operated = redisStore(clients[1], { prefix: "operated" });

/** Denials from the deny cache: the shortest way of a decision on Redis, all of it in this process. */
async function startDenied(store) {
  const limiter = createLimiter({ name: "api", limits, store, storeTimeout: "10s" });
  for (let i = 0; i < 3; i += 1) await limiter.consume("ann");
  return limiter;
}

/** Both stores are copies, so that they differ only in the measured feature. */
const copyOf = (store, isControlled) => ({ ...store, remote: { ...store.remote, isControlled } });

const without = await startDenied(copyOf(alone, false));
const withBoth = await startDenied(copyOf(operated, true));

const listen = () => {};
let observation;
const observing = (target) => ({
  limiter: withBoth,
  begin() {
    observation = observe(target());
  },
  end: () => observation.stop(),
});

/** One whose values are read, as by an exporter; without a reader nothing would be kept. */
function makeMeter() {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
  return new MeterProvider({ readers: [reader] }).getMeter("bench");
}

const CASES = {
  "no registry, no control record": { limiter: without },
  "both, nobody subscribes": { limiter: withBoth },
  "both, a subscriber that does nothing": {
    limiter: withBoth,
    begin: () => subscribe(CHANNELS.decision, listen),
    end: () => unsubscribe(CHANNELS.decision, listen),
  },
  "both, observed with prom-client": observing(() => new Registry()),
  "both, observed with OpenTelemetry": observing(makeMeter),
};

async function consume({ limiter }, calls) {
  for (let i = 0; i < calls; i += 1) await limiter.consume("ann");
}

const times = new Map(Object.keys(CASES).map((name) => [name, []]));
for (let round = 0; round < ROUNDS; round += 1) {
  for (const [name, one] of Object.entries(CASES)) {
    one.begin?.();
    await consume(one, CALLS / 4);
    const from = performance.now();
    await consume(one, CALLS);
    times.get(name).push(((performance.now() - from) * 1e6) / CALLS);
    one.end?.();
    // Background reads are answered between the rounds.
    await new Promise((resolve) => setImmediate(resolve));
  }
}
for (const [name, all] of times) console.log(`${name}: ${median(all).toFixed(0)} ns`);
process.exit();
