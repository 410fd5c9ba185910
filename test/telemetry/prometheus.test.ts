import { spawnSync } from "node:child_process";
import { channel } from "node:diagnostics_channel";
import { once as listening } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createBreaker } from "@headgate/breaker";
import { concurrency, createLimiter, gcra } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { rateLimit } from "@headgate/express";
import headgate from "@headgate/fastify";
import { SHED_CHANNELS } from "@headgate/shed";
import { observe } from "@headgate/telemetry";
import express from "express";
import Fastify from "fastify";
import { Redis } from "ioredis";
import { Registry } from "prom-client";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { uniquePrefix, useRedis } from "../http/support/redis-client.ts";
import type { PrometheusProcess } from "../support/prometheus-process.ts";
import { hasPrometheus, startPrometheus } from "../support/prometheus-process.ts";
import { waitUntil } from "../support/wait-until.ts";

const DIR = join(import.meta.dirname, "../../packages/telemetry/prometheus");
const RULES = join(DIR, "alerts.yml");
const RULE_TESTS = join(DIR, "alerts.test.yml");

interface Panel {
  readonly title: string;
  readonly targets?: readonly { readonly expr: string }[];
  /** Of a row that is folded. */
  readonly panels?: readonly Panel[];
}

const { panels } = JSON.parse(readFileSync(join(DIR, "dashboard.json"), "utf8")) as {
  readonly panels: readonly Panel[];
};

/** The expressions of panels, as Grafana would ask them with all jobs and limiters chosen. */
function expressionsOf(some: readonly Panel[]) {
  return some.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({
      title,
      expression: expr.replaceAll("$__rate_interval", "10s").replaceAll(/\$(?:job|limiter)/g, ".*"),
    })),
  );
}

const shown = expressionsOf(panels.flatMap((panel) => panel.panels ?? [panel]));

/** What an alert looks at, whether or not it is as bad as the alert says. */
function lookOf(query: string): string {
  return query.replaceAll(/ (?:==|>) [0-9.]+/g, "").replaceAll("[5m]", "[10s]");
}

const isInstalled = hasPrometheus();
const redis = useRedis();
const store = redisStore(redis, { prefix: uniquePrefix() });
const often = gcra({ limit: 1_000_000, window: "1h" });
const once = gcra({ limit: 1, window: "1h" });

/** Publishes what a load shedder does that has shed a request. */
function reportShedding(): void {
  const server = { shedder: "server", dryRun: false };
  const request = { ...server, priority: "default", reason: "wait", waitMs: 310, limitMs: 300 };
  channel(SHED_CHANNELS.request).publish(request);
  channel(SHED_CHANNELS.load).publish({ ...server, state: "shedding", longestWaitMs: 310 });
}

/** Serves both frameworks, under a load on everything that there is to measure, until it is stopped. */
async function serve() {
  const stops: (() => unknown)[] = [];
  const registry = new Registry();
  const observation = observe(registry);
  const redisAway = new Redis("/nowhere/redis.sock");
  redisAway.on("error", () => {});
  const away = redisStore(redisAway);
  const fastify = Fastify();
  await fastify.register(headgate, { name: "fastify", store, limits: often });
  const limited = (rateLimit: object) => ({ config: { rateLimit } });
  fastify.get("/metrics", limited(false as never), async () => registry.metrics());
  fastify.get("/", async () => "");
  fastify.get("/once", limited({ limits: once }), async () => "");
  fastify.get("/away", limited({ limits: often, store: away, name: "away" }), async () => "");
  await fastify.listen({ port: 0, host: "127.0.0.1" });
  const app = express();
  app.get("/metrics", async (_, res) => void res.type("text").send(await registry.metrics()));
  app.use(rateLimit({ name: "new", store, limits: once, shadow: true }) as express.RequestHandler);
  app.use(rateLimit({ name: "express", store, limits: once }) as express.RequestHandler);
  app.get("/", (_, res) => void res.end());
  const server = app.listen(0, "127.0.0.1");
  await listening(server, "listening");
  const places = createLimiter({ name: "exports", limits: concurrency({ limit: 2, ttl: "1m" }) });
  const line = createLimiter({ name: "line", limits: once });
  const breaker = createBreaker({ name: "bank", minimumCalls: 2 });
  const abort = new AbortController();
  await places.consume("ada");
  await line.consume("ada");
  line.wait("ada", { signal: abort.signal }).catch(() => {});
  const ports = {
    fastify: (fastify.server.address() as AddressInfo).port,
    express: (server.address() as AddressInfo).port,
  };
  const paths = [
    `${ports.fastify}/`,
    `${ports.fastify}/once`,
    `${ports.fastify}/away`,
    `${ports.express}/`,
  ];
  let isOver = false;
  const load = (async () => {
    while (!isOver) {
      for (const path of paths) await (await fetch(`http://127.0.0.1:${path}`)).text();
      await breaker.run(() => 1, { fallback: () => 2 }).catch(() => {});
      await breaker.record("failure");
      reportShedding();
    }
  })();
  stops.push(
    () => {
      isOver = true;
      abort.abort();
    },
    () => load,
    () => fastify.close(),
    () => {
      server.close();
      server.closeAllConnections();
    },
    () => places.close(),
    () => line.close(),
    () => breaker.close(),
    () => redisAway.disconnect(),
    () => observation.stop(),
  );
  return {
    ports,
    async stop() {
      for (const stop of stops) await stop();
    },
  };
}

/** An application that only limits, and denies no request, under a load until it is stopped. */
async function servePlain(options: Pick<Parameters<typeof rateLimit>[0], "store">) {
  const registry = new Registry();
  const observation = observe(registry);
  const app = express();
  app.get("/metrics", async (_, res) => void res.type("text").send(await registry.metrics()));
  const limit = rateLimit({ name: "plain", limits: often, ...options });
  app.use(limit as express.RequestHandler);
  app.get("/", (_, res) => void res.end());
  const server = app.listen(0, "127.0.0.1");
  await listening(server, "listening");
  const { port } = server.address() as AddressInfo;
  let isOver = false;
  const load = (async () => {
    while (!isOver) await (await fetch(`http://127.0.0.1:${port}/`)).text();
  })();
  return {
    port,
    async stop() {
      isOver = true;
      await load;
      server.close();
      server.closeAllConnections();
      await limit.close();
      observation.stop();
    },
  };
}

describe.skipIf(!isInstalled).each([
  { where: "in memory", options: {} },
  { where: "on Redis", options: { store } },
])("a plain application that counts $where", ({ options }) => {
  let prometheus: PrometheusProcess;
  let served: Awaited<ReturnType<typeof servePlain>>;

  beforeAll(async () => {
    served = await servePlain(options);
    prometheus = await startPrometheus({ plain: served.port }, RULES);
  });

  afterAll(async () => {
    await prometheus?.stop();
    await served?.stop();
  });

  test.each(expressionsOf(panels))(
    "has data for the panel $title",
    async ({ title, expression }) => {
      await waitUntil(`there is data in ${title}`, 20_000, async () => {
        const found = await prometheus.query(expression);
        return found.some(({ value }) => value[1] !== "NaN") || undefined;
      });
    },
  );
});

test("only the panels of breakers and of load shedding are collapsed", () => {
  const rows = panels.filter(({ targets }) => targets === undefined);
  const folded = rows.map(({ title, panels: of = [] }) => [
    title,
    new Set(expressionsOf(of).map(({ expression }) => /headgate_[a-z]+/.exec(expression)?.[0])),
  ]);
  expect(folded).toEqual([
    ["Breakers", new Set(["headgate_breaker"])],
    ["Load shedding", new Set(["headgate_shed"])],
  ]);
});

describe.skipIf(!isInstalled)("a real Prometheus", () => {
  let prometheus: PrometheusProcess;
  let served: Awaited<ReturnType<typeof serve>>;

  beforeAll(async () => {
    vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    served = await serve();
    prometheus = await startPrometheus(served.ports, RULES);
    const all = await prometheus.rules();
    expect(all.length).toBeGreaterThan(0);
  });

  afterAll(async () => {
    await prometheus?.stop();
    await served?.stop();
    vi.restoreAllMocks();
  });

  /** Resolves with the first samples of an expression. */
  function samplesOf(expression: string) {
    return waitUntil(`there is data for ${expression}`, 20_000, async () => {
      const found = await prometheus.query(expression);
      return found.some(({ value }) => value[1] !== "NaN") ? found : undefined;
    });
  }

  test.each(shown)("has data for the panel $title: $expression", async ({ expression }) => {
    expect((await samplesOf(expression)).length).toBeGreaterThan(0);
  });

  test("has data for the expressions of each alert", async () => {
    const rules = await prometheus.rules();
    for (const { name, query } of rules) {
      // Of limiters there are fewer here than names.
      const look = lookOf(query).replace('limiter="other"', 'limiter!="other"');
      expect((await samplesOf(look)).length, name).toBeGreaterThan(0);
    }
  });

  test("scrapes both frameworks", async () => {
    const jobs = (await samplesOf("headgate_store_up")).map(({ metric }) => metric["job"]);
    expect([...new Set(jobs)].sort()).toEqual(["express", "fastify"]);
  });
});

describe.skipIf(!isInstalled)("promtool", () => {
  function promtool(...args: readonly string[]): { status: number | null; output: string } {
    const { status, stdout, stderr } = spawnSync("promtool", args, { encoding: "utf8", cwd: DIR });
    return { status, output: stdout + stderr };
  }

  test("accepts the alert rules", () => {
    expect(promtool("check", "rules", RULES)).toMatchObject({ status: 0 });
  });

  test("gives each alert a link with a path if no external label has the base URL", () => {
    const dir = mkdtempSync(join(tmpdir(), "headgate-alerts-"));
    onTestFinished(() => rmSync(dir, { recursive: true }));
    const file = join(dir, "alerts.test.yml");
    const tests = readFileSync(RULE_TESTS, "utf8")
      .replace("  - alerts.yml", `  - ${RULES}`)
      .replaceAll(/^ +external_labels: .*\n/gm, "")
      .replaceAll("https://docs.example.com", "");
    expect(tests).toContain('runbook_url: "/how-to/runbook#redis-is-slow"');
    writeFileSync(file, tests);
    expect(promtool("test", "rules", file)).toMatchObject({ status: 0 });
  });

  test("tests that each alert fires and stays silent when it should", () => {
    expect(promtool("test", "rules", RULE_TESTS)).toMatchObject({ status: 0 });
    const tests = readFileSync(RULE_TESTS, "utf8");
    const alerts = [...readFileSync(RULES, "utf8").matchAll(/- alert: (\w+)/g)];
    for (const [, alert] of alerts) {
      const cases = tests.split(`alertname: ${alert}\n`).slice(1);
      const fires = cases.map((one) => !/^\s*eval_time: \w+\s*exp_alerts: \[\]/.test(one));
      expect(fires, alert).toEqual(expect.arrayContaining([true, false]));
    }
  });
});
