import { channel } from "node:diagnostics_channel";
import { CHANNELS, createLimiter, fixedWindow, memoryStore } from "@headgate/core";
import { FETCH_CHANNELS } from "@headgate/fetch";
import {
  AggregationTemporality,
  DataPointType,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import { Registry } from "prom-client";
import { expect, onTestFinished, test } from "vitest";
import { breakerOnClock } from "../../../test/support/breaker-on-clock.ts";
import { overload } from "../../../test/support/overloaded-shedder.ts";
import { INSTRUMENTS } from "./instruments.ts";
import { observe } from "./observe.ts";

/** The metrics that an SDK's reader collects from an observed meter. */
function observed(temporality = AggregationTemporality.CUMULATIVE) {
  const exporter = new InMemoryMetricExporter(temporality);
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
  const provider = new MeterProvider({ readers: [reader] });
  const meter = provider.getMeter("test");
  const observation = observe(meter);
  onTestFinished(async () => {
    observation.stop();
    await provider.shutdown();
  });
  return {
    meter,
    observation,
    async collect() {
      exporter.reset();
      await reader.forceFlush();
      const metrics = exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics);
      return metrics.flatMap((scope) => scope.metrics);
    },
  };
}

async function decide(): Promise<void> {
  const store = memoryStore({ clock: () => 1_000_000 });
  const limits = fixedWindow({ limit: 2, window: "1h" });
  const limiter = createLimiter({ name: "api", limits, store });
  for (let i = 0; i < 3; i += 1) await limiter.consume("ada");
  await limiter.close();
}

/** Every instrument has something to say then. */
async function useAll(): Promise<void> {
  const decision = { wouldAllow: true, source: "local", shadow: false, limit: 4, remaining: 1 };
  const message = { limiter: "api", durationMs: 3, decision: { ...decision, degraded: true } };
  channel(CHANNELS.decision).publish(message);
  for (const name of [CHANNELS.waiting, CHANNELS.slots]) {
    channel(name).publish({ limiter: "api", count: 2 });
  }
  channel(CHANNELS.storeServer).publish({ node: "", monitor: {}, state: "up" });
  const { count } = breakerOnClock();
  await count(1, 0);
  for (const name of Object.values(FETCH_CHANNELS)) {
    channel(name).publish({ limiter: "api", status: 429 });
  }
  overload();
}

test("a meter gets every instrument with its name, unit, kind and boundaries", async () => {
  const { collect } = observed();
  await useAll();
  const collected = await collect();
  const kinds = {
    [DataPointType.SUM]: "counter",
    [DataPointType.GAUGE]: "gauge",
    [DataPointType.HISTOGRAM]: "histogram",
    [DataPointType.EXPONENTIAL_HISTOGRAM]: "another",
  };
  const found = collected.map(({ descriptor, dataPointType, dataPoints }) => ({
    name: descriptor.name,
    unit: descriptor.unit,
    kind: kinds[dataPointType],
    labels: Object.keys(dataPoints[0]?.attributes ?? {}),
  }));
  expect(found.sort((a, b) => (a.name < b.name ? -1 : 1))).toEqual([
    {
      name: "headgate.breaker.calls",
      unit: "{call}",
      kind: "counter",
      labels: ["breaker", "outcome"],
    },
    { name: "headgate.breaker.state", unit: "", kind: "gauge", labels: ["breaker", "state"] },
    { name: "headgate.breaker.success_rate", unit: "1", kind: "gauge", labels: ["breaker"] },
    { name: "headgate.decision.duration", unit: "s", kind: "histogram", labels: ["limiter"] },
    {
      name: "headgate.decisions",
      unit: "{decision}",
      kind: "counter",
      labels: ["limiter", "outcome", "source", "shadow"],
    },
    {
      name: "headgate.decisions.degraded",
      unit: "{decision}",
      kind: "counter",
      labels: ["limiter", "source"],
    },
    {
      name: "headgate.fetch.cooldowns",
      unit: "{cooldown}",
      kind: "counter",
      labels: ["limiter", "status"],
    },
    {
      name: "headgate.fetch.retries",
      unit: "{request}",
      kind: "counter",
      labels: ["limiter", "status"],
    },
    {
      name: "headgate.shed.requests",
      unit: "{request}",
      kind: "counter",
      labels: ["shedder", "dry_run", "priority", "reason"],
    },
    {
      name: "headgate.shed.state",
      unit: "",
      kind: "gauge",
      labels: ["shedder", "dry_run", "state"],
    },
    { name: "headgate.shed.wait", unit: "s", kind: "gauge", labels: ["shedder", "dry_run"] },
    { name: "headgate.slots", unit: "{slot}", kind: "gauge", labels: ["limiter"] },
    { name: "headgate.store.up", unit: "", kind: "gauge", labels: ["server"] },
    { name: "headgate.utilization", unit: "1", kind: "histogram", labels: ["limiter"] },
    { name: "headgate.waiting", unit: "{call}", kind: "gauge", labels: ["limiter"] },
  ]);
  const durations = collected.find(({ descriptor }) => /duration/.test(descriptor.name));
  expect(durations?.dataPoints[0]?.value).toMatchObject({
    buckets: { boundaries: INSTRUMENTS.duration.boundaries },
    sum: 0.003,
  });
});

test("counters and histograms count decisions, cumulative or by interval", async () => {
  for (const temporality of [AggregationTemporality.CUMULATIVE, AggregationTemporality.DELTA]) {
    const { collect, observation } = observed(temporality);
    await decide();
    const first = await collect();
    await decide();
    const second = await collect();
    const isDelta = temporality === AggregationTemporality.DELTA;
    const valuesOf = (name: string, metrics = second) =>
      metrics
        .find(({ descriptor }) => descriptor.name === name)
        ?.dataPoints.map(({ attributes, value }) => [
          attributes["outcome"],
          typeof value === "number" ? value : (value as { count: number }).count,
        ]);
    expect(valuesOf("headgate.decisions", first)).toEqual([
      ["allowed", 2],
      ["denied", 1],
    ]);
    expect(valuesOf("headgate.decisions")).toEqual([
      ["allowed", isDelta ? 2 : 4],
      ["denied", isDelta ? 1 : 2],
    ]);
    expect(valuesOf("headgate.utilization")).toEqual([[undefined, isDelta ? 3 : 6]]);
    observation.stop();
  }
});

test("a meter gets nothing after its observation stopped, and can be observed again", async () => {
  const { collect, meter, observation } = observed();
  observation.stop();
  await useAll();
  expect((await collect()).flatMap(({ dataPoints }): object[] => dataPoints)).toEqual([]);
  const again = observe(meter);
  await decide();
  expect((await collect()).length).toBeGreaterThan(0);
  again.stop();
});

test("a meter and a registry that are observed at the same time report the same", async () => {
  const registry = new Registry();
  const prometheus = observe(registry);
  const { collect } = observed();
  await decide();
  prometheus.stop();
  expect(await registry.metrics()).toBe("\n");
  const decisions = (await collect()).find(
    ({ descriptor }) => descriptor.name === "headgate.decisions",
  );
  const points: readonly { readonly value: unknown }[] = decisions?.dataPoints ?? [];
  expect(points.map(({ value }) => value)).toEqual([2, 1]);
});
