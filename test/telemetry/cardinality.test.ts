import { channel } from "node:diagnostics_channel";
import { BREAKER_CHANNELS } from "@headgate/breaker";
import { CHANNELS, createLimiter, gcra, memoryStore } from "@headgate/core";
import headgate from "@headgate/fastify";
import { FETCH_CHANNELS } from "@headgate/fetch";
import { SHED_CHANNELS } from "@headgate/shed";
import { observe } from "@headgate/telemetry";
import Fastify from "fastify";
import { Registry } from "prom-client";
import { expect, onTestFinished, test } from "vitest";

const LIMITERS = 10_000;
const ROUTES = 300;
/** Ten times as many as a store keeps, and a hundred times with `HEADGATE_LONG=1`. */
const SUBJECTS = process.env["HEADGATE_LONG"] === "1" ? 1_000_000 : 100_000;

/** What a registry of a test's own collects, as lines without comments. */
function observed(options: Parameters<typeof observe>[1]) {
  const registry = new Registry();
  const observation = observe(registry, options);
  onTestFinished(() => observation.stop());
  return async () => {
    const text = await registry.metrics();
    return text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  };
}

function valuesOf(label: string, lines: readonly string[]): Set<string | undefined> {
  const found = lines.map((line) => new RegExp(`[{,]${label}="([^"]*)"`).exec(line)?.[1]);
  return new Set(found.filter((value) => value !== undefined));
}

function sumOf(metric: string, lines: readonly string[]): number {
  const values = lines
    .filter((line) => line.startsWith(metric))
    .map((line) => line.split(" ").at(-1));
  return values.reduce((sum, value) => sum + Number(value), 0);
}

test(`10,000 limiters, 300 Fastify routes and ${SUBJECTS} subjects leave at most 5,000 series`, async () => {
  const collectors = [observed({}), observed({ routes: true, targets: true })];
  const limits = gcra({ limit: 1, window: "1h" });
  const app = Fastify();
  await app.register(headgate, { name: "site", limits });
  for (let i = 0; i < ROUTES; i += 1) {
    app.get(`/route-${i}`, { config: { rateLimit: { limits } } }, async () => "");
  }
  for (let i = 0; i < ROUTES; i += 1) {
    for (let asked = 0; asked < 2; asked += 1) await app.inject(`/route-${i}`);
  }
  await app.close();
  const store = memoryStore({ maxKeys: 10_000 });
  const crowd = createLimiter({ name: "crowd", limits, store });
  for (let i = 0; i < SUBJECTS; i += 1) await crowd.consume(`user-${i}`);
  await crowd.close();
  for (let i = 0; i < LIMITERS; i += 1) {
    const limiter = createLimiter({ name: `limiter-${i}`, limits, store });
    for (let asked = 0; asked < 2; asked += 1) await limiter.consume("ada");
    await limiter.close();
  }
  // Of everything else there is as much.
  for (let i = 0; i < LIMITERS; i += 1) {
    const limiter = `limiter-${i}`;
    for (const name of [CHANNELS.waiting, CHANNELS.slots]) {
      channel(name).publish({ limiter, count: 1 });
    }
    channel(CHANNELS.storeServer).publish({ node: `10.0.0.${i}`, monitor: {}, state: "up" });
    const target = { breaker: limiter, target: limiter, state: "open", calls: 2, successes: 1 };
    channel(BREAKER_CHANNELS.snapshot).publish(target);
    channel(FETCH_CHANNELS.cooldown).publish({ limiter, host: `${limiter}.example`, status: 429 });
    const shedder = { shedder: limiter, dryRun: i % 2 === 0, state: "busy", longestWaitMs: 1 };
    channel(SHED_CHANNELS.load).publish(shedder);
  }
  for (const collect of collectors) {
    const lines = await collect();
    expect(lines.length).toBeGreaterThan(3_000);
    expect(lines.length).toBeLessThanOrEqual(5_000);
    for (const label of ["limiter", "route", "server", "breaker", "target", "shedder"]) {
      expect(valuesOf(label, lines).size, label).toBeLessThanOrEqual(201);
    }
    const named = expect.arrayContaining(["site", "crowd", "other"]);
    expect([...valuesOf("limiter", lines)]).toEqual(named);
    // What has no label of its own is counted all the same.
    const all = 2 * ROUTES + SUBJECTS + 2 * LIMITERS;
    expect(sumOf("headgate_decisions_total", lines)).toBe(all);
    expect(sumOf("headgate_decision_duration_seconds_count", lines)).toBe(all);
    expect(sumOf("headgate_waiting", lines)).toBe(LIMITERS);
    expect(sumOf("headgate_fetch_cooldowns_total", lines)).toBe(LIMITERS);
    expect(lines.join("\n")).not.toContain("user-");
  }
});
