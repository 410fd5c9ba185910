import { channel } from "node:diagnostics_channel";
import type { Limiter, LimiterOptions } from "@headgate/core";
import { CHANNELS, concurrency, createLimiter, fixedWindow, memoryStore } from "@headgate/core";
import { FETCH_CHANNELS, limitFetch } from "@headgate/fetch";
import { Registry } from "prom-client";
import { describe, expect, onTestFinished, test } from "vitest";
import { breakerOnClock } from "../../../test/support/breaker-on-clock.ts";
import { overload } from "../../../test/support/overloaded-shedder.ts";
import type { ObserveOptions } from "./observe.ts";
import { observe } from "./observe.ts";

/** What a registry of a test's own collects, as lines without comments. */
function observed(options?: ObserveOptions) {
  const registry = new Registry();
  const observation = observe(registry, options);
  onTestFinished(() => observation.stop());
  return {
    registry,
    observation,
    async lines(about = "") {
      const text = await registry.metrics();
      return text.split("\n").filter((line) => line.startsWith(`headgate_${about}`));
    },
  };
}

let made = 0;
const clock = () => 1_000_000;

function limiterOf(options: Omit<LimiterOptions<never>, "name"> & { name?: string }): Limiter {
  made += 1;
  const store = memoryStore({ clock });
  const limiter = createLimiter({ name: `limiter-${made}`, store, ...options }) as Limiter;
  onTestFinished(() => limiter.close());
  return limiter;
}

const twice = fixedWindow({ limit: 2, window: "1h" });

describe("decisions", () => {
  test("are counted by limiter, outcome, source and shadow", async () => {
    const { lines } = observed();
    const api = limiterOf({ name: "api", limits: twice });
    for (let i = 0; i < 5; i += 1) await api.consume("ada");
    await api.block("bob", "1h");
    await api.consume("bob");
    const shadow = limiterOf({ name: "new", limits: twice, shadow: true });
    for (let i = 0; i < 3; i += 1) await shadow.consume("ada");
    expect(await lines("decisions")).toEqual([
      'headgate_decisions_total{limiter="api",outcome="allowed",source="store",shadow="false"} 2',
      'headgate_decisions_total{limiter="api",outcome="denied",source="store",shadow="false"} 3',
      'headgate_decisions_total{limiter="api",outcome="blocked",source="store",shadow="false"} 1',
      'headgate_decisions_total{limiter="new",outcome="allowed",source="store",shadow="true"} 2',
      'headgate_decisions_total{limiter="new",outcome="denied",source="store",shadow="true"} 1',
    ]);
  });

  test("are timed in seconds", async () => {
    const { lines } = observed();
    channel(CHANNELS.decision).publish({
      limiter: "api",
      decision: { wouldAllow: true, source: "store", shadow: false, limit: 0, remaining: 0 },
      durationMs: 3,
    });
    expect(await lines("decision_duration")).toEqual([
      'headgate_decision_duration_seconds_bucket{le="0.0001",limiter="api"} 0',
      'headgate_decision_duration_seconds_bucket{le="0.0005",limiter="api"} 0',
      'headgate_decision_duration_seconds_bucket{le="0.001",limiter="api"} 0',
      'headgate_decision_duration_seconds_bucket{le="0.005",limiter="api"} 1',
      'headgate_decision_duration_seconds_bucket{le="0.025",limiter="api"} 1',
      'headgate_decision_duration_seconds_bucket{le="0.1",limiter="api"} 1',
      'headgate_decision_duration_seconds_bucket{le="0.5",limiter="api"} 1',
      'headgate_decision_duration_seconds_bucket{le="2.5",limiter="api"} 1',
      'headgate_decision_duration_seconds_bucket{le="+Inf",limiter="api"} 1',
      'headgate_decision_duration_seconds_sum{limiter="api"} 0.003',
      'headgate_decision_duration_seconds_count{limiter="api"} 1',
    ]);
    // No limit was counted.
    expect(await lines("utilization")).toEqual([]);
  });

  test("record the used share of the binding limit", async () => {
    const { lines } = observed();
    const limits = fixedWindow({ limit: 4, window: "1h" });
    const api = limiterOf({ name: "api", limits });
    for (let i = 0; i < 5; i += 1) await api.consume("ada");
    expect(await lines("utilization")).toEqual([
      'headgate_utilization_ratio_bucket{le="0.1",limiter="api"} 0',
      'headgate_utilization_ratio_bucket{le="0.25",limiter="api"} 1',
      'headgate_utilization_ratio_bucket{le="0.5",limiter="api"} 2',
      'headgate_utilization_ratio_bucket{le="0.75",limiter="api"} 3',
      'headgate_utilization_ratio_bucket{le="0.9",limiter="api"} 3',
      'headgate_utilization_ratio_bucket{le="1",limiter="api"} 5',
      'headgate_utilization_ratio_bucket{le="+Inf",limiter="api"} 5',
      'headgate_utilization_ratio_sum{limiter="api"} 3.5',
      'headgate_utilization_ratio_count{limiter="api"} 5',
    ]);
  });

  test("of a plugin's routes have the plugin's name, and the route only with routes: true", async () => {
    const plain = observed();
    const { lines } = observed({ routes: true });
    const decision = { wouldAllow: true, source: "store", shadow: false, limit: 0, remaining: 0 };
    const ask = (limiter: string, route?: string) =>
      channel(CHANNELS.decision).publish({
        limiter,
        plugin: "api",
        route,
        decision,
        durationMs: 1,
      });
    ask("api", "GET /a");
    ask("api GET /b", "GET /b");
    ask("api");
    expect(await plain.lines("decisions")).toEqual([
      'headgate_decisions_total{limiter="api",outcome="allowed",source="store",shadow="false"} 3',
    ]);
    expect(await lines("decisions")).toEqual([
      'headgate_decisions_total{limiter="api",route="GET /a",outcome="allowed",source="store",shadow="false"} 1',
      'headgate_decisions_total{limiter="api",route="GET /b",outcome="allowed",source="store",shadow="false"} 1',
      'headgate_decisions_total{limiter="api",outcome="allowed",source="store",shadow="false"} 1',
    ]);
    expect(await lines("decision_duration_seconds_count")).toHaveLength(3);
  });
});

describe("slots and waiting calls", () => {
  test("slots count while held, until they are released or expire", async () => {
    const { lines } = observed();
    let now = 1_000_000;
    const limiter = limiterOf({
      name: "exports",
      limits: concurrency({ limit: 3, ttl: "1ms" }),
      store: memoryStore({ clock: () => now }),
    });
    const first = await limiter.consume("ada");
    const second = await limiter.consume("bob");
    expect(await lines("slots")).toEqual(['headgate_slots{limiter="exports"} 2']);
    await limiter.release(first);
    await limiter.release(first);
    expect(await lines("slots")).toEqual(['headgate_slots{limiter="exports"} 1']);
    now += 10;
    // It is given up by a timer of its own.
    await expect.poll(() => lines("slots")).toEqual(['headgate_slots{limiter="exports"} 0']);
    await limiter.release(second);
    expect(await lines("slots")).toEqual(['headgate_slots{limiter="exports"} 0']);
  });

  test("waiting counts the calls not admitted yet, of all limiters with a name together", async () => {
    const { lines } = observed();
    const limits = fixedWindow({ limit: 1, window: "1h" });
    const limiters = [limiterOf({ name: "line", limits }), limiterOf({ name: "line", limits })];
    const abort = new AbortController();
    const waiting = limiters.map(async (limiter) => {
      await limiter.wait("ada");
      return limiter.wait("ada", { signal: abort.signal }).catch(() => {});
    });
    await expect.poll(() => lines("waiting")).toEqual(['headgate_waiting{limiter="line"} 2']);
    abort.abort();
    await Promise.all(waiting);
    expect(await lines("waiting")).toEqual(['headgate_waiting{limiter="line"} 0']);
  });

  test("calls from before the observation are neither counted nor subtracted", async () => {
    const limiter = limiterOf({ name: "early", limits: concurrency({ limit: 9, ttl: "1h" }) });
    const before = await limiter.consume("ada");
    const { lines } = observed();
    await limiter.consume("bob");
    await limiter.release(before);
    expect(await lines("slots")).toEqual(['headgate_slots{limiter="early"} 1']);
  });
});

describe("servers", () => {
  const monitor = {};
  const other = {};
  function say(state: string, by = monitor, node = ""): void {
    channel(CHANNELS.storeServer).publish({ node, monitor: by, state });
  }

  test("a server is down if any monitor finds it down, and unreported once no monitor watches it", async () => {
    const { lines } = observed();
    const up = 'headgate_store_up{server="store"}';
    say("up");
    say("up");
    say("up", other);
    expect(await lines("store")).toEqual([`${up} 1`]);
    say("down", other);
    expect(await lines("store")).toEqual([`${up} 0`]);
    say("unwatched", other);
    expect(await lines("store")).toEqual([`${up} 1`]);
    say("up", monitor, "10.0.0.1:6379");
    expect(await lines("store")).toEqual([
      `${up} 1`,
      'headgate_store_up{server="10.0.0.1:6379"} 1',
    ]);
    say("unwatched");
    expect(await lines("store")).toEqual(['headgate_store_up{server="10.0.0.1:6379"} 1']);
  });
});

describe("breakers", () => {
  test("report their state, calls by outcome, and the window's success rate", async () => {
    const { lines } = observed();
    const { breaker, count, advance } = breakerOnClock();
    await count(1, 1);
    expect(await lines("breaker")).toEqual([
      'headgate_breaker_state{breaker="payments",state="closed"} 1',
      'headgate_breaker_state{breaker="payments",state="open"} 0',
      'headgate_breaker_state{breaker="payments",state="half-open"} 0',
      'headgate_breaker_state{breaker="payments",state="forced-open"} 0',
      'headgate_breaker_state{breaker="payments",state="disabled"} 0',
      'headgate_breaker_state{breaker="payments",state="metrics-only"} 0',
      'headgate_breaker_calls_total{breaker="payments",outcome="success"} 1',
      'headgate_breaker_calls_total{breaker="payments",outcome="failure"} 1',
      'headgate_breaker_calls_total{breaker="payments",outcome="rejected"} 0',
      'headgate_breaker_success_rate_ratio{breaker="payments"} 0.5',
    ]);
    await count(0, 2);
    await expect(breaker.run(() => "never")).rejects.toMatchObject({
      code: "HEADGATE_BREAKER_OPEN",
    });
    const after = await lines("breaker");
    expect(after).toContain('headgate_breaker_state{breaker="payments",state="closed"} 0');
    expect(after).toContain('headgate_breaker_state{breaker="payments",state="open"} 1');
    expect(after).toContain(
      'headgate_breaker_calls_total{breaker="payments",outcome="rejected"} 1',
    );
    advance(30_000);
    await breaker.run(() => "a trial call");
    expect(await lines("breaker")).toEqual(
      expect.arrayContaining([
        'headgate_breaker_state{breaker="payments",state="half-open"} 1',
        'headgate_breaker_calls_total{breaker="payments",outcome="success"} 2',
      ]),
    );
  });

  test("report all states of their targets, and each target separately with targets: true", async () => {
    const plain = observed();
    const { lines } = observed({ targets: true });
    const { breaker, count } = breakerOnClock();
    await count(3, 0);
    const bank = breaker.for("bank");
    await bank.record("failure");
    await bank.forceOpen();
    const state = (about: string) => `headgate_breaker_state{breaker="payments",${about}} 1`;
    const isOne = (line: string) => line.endsWith(" 1");
    expect((await plain.lines("breaker_state")).filter(isOne)).toEqual([
      state('state="closed"'),
      state('state="forced-open"'),
    ]);
    expect(await plain.lines("breaker_success")).toEqual([
      'headgate_breaker_success_rate_ratio{breaker="payments"} 0.75',
    ]);
    expect((await lines("breaker_state")).filter(isOne)).toEqual([
      state('target="default",state="closed"'),
      state('target="bank",state="forced-open"'),
    ]);
  });
});

describe("calls to other APIs", () => {
  test("count their cooldowns, and the requests that are sent again, by the status of the answer", async () => {
    const { lines, registry } = observed();
    const statuses = [503, 429, 429, 200];
    const send = limitFetch({
      limiter: limiterOf({
        name: "partner",
        limits: fixedWindow({ limit: 9, window: "1h" }),
        store: memoryStore(),
      }),
      fetch: async () =>
        new Response("", { status: statuses.shift() ?? 500, headers: { "retry-after": "0.01" } }),
    });
    expect((await send("https://api.example/")).status).toBe(200);
    // The same API under another host counts for the same limiter.
    statuses.push(429);
    await send("https://eu.api.example/", { body: new Blob(["a"]).stream(), method: "POST" });
    expect(await lines("fetch")).toEqual([
      'headgate_fetch_cooldowns_total{limiter="partner",status="503"} 1',
      'headgate_fetch_cooldowns_total{limiter="partner",status="429"} 3',
      'headgate_fetch_retries_total{limiter="partner",status="503"} 1',
      'headgate_fetch_retries_total{limiter="partner",status="429"} 2',
    ]);
    expect(await registry.metrics()).not.toContain("api.example");
  });
});

describe("load shedders", () => {
  test("report the requests that they shed, their state, and the longest wait", async () => {
    const { lines } = observed();
    const { endSecond } = overload({ priority: () => "sheddable" });
    const requests = (priority: string, reason: string, count: number) =>
      `headgate_shed_requests_total{shedder="server",dry_run="false",priority="${priority}",reason="${reason}"} ${count}`;
    expect(await lines("shed")).toEqual([
      requests("default", "wait", 0),
      requests("default", "heavy-subject", 0),
      requests("default", "line-full", 0),
      requests("sheddable", "wait", 2),
      requests("sheddable", "heavy-subject", 0),
      requests("sheddable", "line-full", 0),
      'headgate_shed_state{shedder="server",dry_run="false",state="calm"} 0',
      'headgate_shed_state{shedder="server",dry_run="false",state="busy"} 0',
      'headgate_shed_state{shedder="server",dry_run="false",state="shedding"} 1',
      'headgate_shed_wait_seconds{shedder="server",dry_run="false"} 0',
    ]);
    endSecond();
    expect(await lines("shed_wait")).toEqual([
      'headgate_shed_wait_seconds{shedder="server",dry_run="false"} 0.4',
    ]);
    endSecond();
    const after = await lines("shed");
    expect(after).toContain('headgate_shed_state{shedder="server",dry_run="false",state="calm"} 1');
    expect(after).toContain('headgate_shed_wait_seconds{shedder="server",dry_run="false"} 0');
    expect(after).toContain(requests("sheddable", "wait", 2));
  });

  test("report no wait once they are calm, whatever the last one was", async () => {
    const { lines } = observed();
    channel("headgate:shed:load").publish({
      ...{ shedder: "server", dryRun: false, state: "calm", longestWaitMs: 250 },
    });
    expect(await lines("shed_wait")).toEqual([
      'headgate_shed_wait_seconds{shedder="server",dry_run="false"} 0',
    ]);
  });

  test("count the requests of a dry run apart", async () => {
    const { lines } = observed();
    overload({ name: "trial", dryRun: true });
    const counted = (await lines("shed_requests")).filter((line) => !line.endsWith(" 0"));
    expect(counted).toEqual([
      'headgate_shed_requests_total{shedder="trial",dry_run="true",priority="default",reason="wait"} 2',
    ]);
  });
});

describe("an observation", () => {
  test("that is stopped counts nothing, leaves nothing behind, and can be started again", async () => {
    const { registry, observation, lines } = observed();
    const api = limiterOf({ limits: twice });
    await api.consume("ada");
    observation.stop();
    observation.stop();
    expect(await lines()).toEqual([]);
    for (const name of Object.values({ ...CHANNELS, ...FETCH_CHANNELS })) {
      expect(channel(name).hasSubscribers).toBe(false);
    }
    const again = observe(registry);
    await api.consume("ada");
    expect(await lines("decisions")).toMatchObject([expect.stringMatching(/ 1$/)]);
    again.stop();
  });

  test("keeps its counters when prom-client resets its metrics", async () => {
    const { registry, lines } = observed();
    const api = limiterOf({ limits: twice });
    await api.consume("ada");
    registry.resetMetrics();
    expect(await lines("decisions")).toHaveLength(1);
  });

  test("appears in a registry's JSON and in OpenMetrics", async () => {
    const registry = new Registry<"application/openmetrics-text; version=1.0.0; charset=utf-8">();
    registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
    const observation = observe(registry);
    onTestFinished(() => observation.stop());
    await limiterOf({ name: "api", limits: twice }).consume("ada");
    const text = await registry.metrics();
    expect(text).toContain("# TYPE headgate_decisions counter");
    expect(text).toContain('headgate_decisions_total{limiter="api",outcome="allowed"');
    const json = await registry.getMetricsAsJSON();
    expect(json.find(({ name }) => name === "headgate_store_up")).toMatchObject({
      type: "gauge",
      aggregator: "min",
    });
    observation.stop();
    expect(await registry.getMetricsAsJSON()).toEqual([]);
  });

  const registry = new Registry();
  test.each<[string, unknown, unknown, string]>([
    ["no target", undefined, {}, "an OpenTelemetry meter or a prom-client registry, got undefined"],
    ["something else", { record() {} }, {}, "got object"],
    ["no options", registry, null, "options must be an object, got null"],
    [
      "an unknown option",
      registry,
      { route: true },
      'unknown option "route"; it takes routes, targets',
    ],
    ["an option of another type", registry, { routes: "yes" }, "routes must be true or false"],
  ])("of %s is refused", (_, target, options, message) => {
    expect(() => observe(target as Registry, options as ObserveOptions)).toThrow(
      expect.objectContaining({
        code: "HEADGATE_INVALID_OPTION",
        message: expect.stringContaining(message),
      }),
    );
  });

  test("of an observed registry is rejected, and so is one whose metric names are taken, which leaves nothing behind", async () => {
    const { registry } = observed();
    expect(() => observe(registry)).toThrow("already observed");
    const taken = new Registry();
    taken.registerMetric({ name: "headgate_slots" } as never);
    expect(() => observe(taken)).toThrow("headgate_slots has already been registered");
    expect(taken.getMetricsAsArray()).toHaveLength(1);
  });
});
