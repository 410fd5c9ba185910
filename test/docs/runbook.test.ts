import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { gcra } from "@headgate/core";
import { checkOverride, createAdmin, readRegistry } from "@headgate/core/admin";
import { subjectOfAddress } from "@headgate/core/http";
import { redisStore } from "@headgate/core/redis";
import { observe } from "@headgate/telemetry";
import { Redis } from "ioredis";
import { Registry } from "prom-client";
import { describe, expect, onTestFinished, test } from "vitest";
import { runCli } from "../cli/run-cli.ts";
import { express5Framework } from "../http/support/express-framework.ts";
import { fastifyFramework } from "../http/support/fastify-framework.ts";
import type { Framework, SharedOptions, Site } from "../http/support/framework.ts";
import { recordDecisions } from "../http/support/record-decisions.ts";
import { useOwnRedis } from "../support/own-redis.ts";
import { waitUntil } from "../support/wait-until.ts";
import { writeRegistry } from "../support/write-registry.ts";
import { blocksOf, codeIn, linksOf, page, ROOT, section, tablesOf } from "./markdown.ts";

const PAGE = page("docs/how-to/runbook.md");
const DIR = join(ROOT, "packages/telemetry/prometheus");

const own = useOwnRedis();
const orders = { name: "orders", limits: gcra({ limit: 5, window: "1h" }) };
const operator = () => createAdmin(redisStore(own.client));

/** An instance of an application with its own connection, behind a trusted proxy. */
async function start(
  { serve }: Framework,
  options: Partial<SharedOptions> = {},
  trustProxy: Site["trustProxy"] = "loopback",
) {
  const client = new Redis(own.server.socket);
  client.on("error", () => {});
  onTestFinished(() => client.disconnect());
  const store = redisStore(client);
  const limits: SharedOptions = { ...orders, store, storeTimeout: "10s", ...options };
  const { sendRequest, warnings } = await serve({ limits, trustProxy });
  const askAs = (address: string) => sendRequest("/", { headers: { "x-forwarded-for": address } });
  return { store, warnings, askAs };
}

type Instance = Awaited<ReturnType<typeof start>>;

/** Starts one instance of each framework. */
function startTwo(...options: [Partial<SharedOptions>?, Site["trustProxy"]?]) {
  return Promise.all([
    start(fastifyFramework, ...options),
    start(express5Framework, ...options),
  ] as const);
}

/** Sends a request of each client to each instance, one after another, and returns the statuses. */
async function statusesOf(instances: readonly Instance[], ...clients: readonly string[]) {
  const statuses: number[] = [];
  for (const client of clients) {
    for (const { askAs } of instances) statuses.push((await askAs(client)).status);
  }
  return statuses;
}

/** Whether all requests of these clients succeed. */
async function areServed(instances: readonly Instance[], ...clients: readonly string[]) {
  return (await statusesOf(instances, ...clients)).every((status) => status === 200);
}

/** Runs the `headgate` command on this test's Redis. */
const headgate = (...args: readonly string[]) => runCli([...args, "--redis", own.server.socket]);

// biome-ignore lint/suspicious/noExplicitAny: other tests check it against the schemas
async function headgateJson(...args: readonly string[]): Promise<any> {
  const { exitCode, stdout, stderr } = await headgate(...args, "--json");
  expect([exitCode, stderr]).toEqual([0, ""]);
  return JSON.parse(stdout);
}

/** Waits until an action is effective, and a millisecond longer, because timers may fire that early. */
const untilEffective = ({ effectiveAt }: { effectiveAt: Date }) =>
  delay(effectiveAt.getTime() - Date.now() + 1);

/** A PromQL expression: the aggregation, its labels, the metric and the label matchers. */
const EXPRESSION = /(sum|min) by \(([^)]+)\) \((?:rate\()?(headgate_\w+)(?:\{([^}]*)\})?/g;

/** Observes from now on. The returned function evaluates the expressions of an incident, each as values by labels. */
function watch(incident: string): () => Promise<Record<string, number>[]> {
  const registry = new Registry();
  const observation = observe(registry);
  onTestFinished(() => observation.stop());
  const expressions = blocksOf([incidentOf(incident)], "promql").flatMap(({ text }) => [
    ...text.matchAll(EXPRESSION),
  ]);
  return async () => {
    const lines = (await registry.metrics()).split("\n");
    return expressions.map(([, how, by = "", metric, matchers = ""]) => {
      const given: Record<string, number> = {};
      for (const line of lines.filter((one) => one.startsWith(`${metric}{`))) {
        const labels = labelsIn(line);
        if (!matches(labels, matchers)) continue;
        const key = by
          .split(", ")
          .map((label) => labels[label])
          .join(" ");
        const value = Number(line.split(" ").at(-1));
        const before = given[key] ?? (how === "sum" ? 0 : value);
        given[key] = how === "sum" ? before + value : Math.min(before, value);
      }
      return given;
    });
  };
}

function incidentOf(heading: string) {
  const text = section(PAGE, heading);
  const blocks = PAGE.blocks.filter((block) => text.includes(block.text));
  return { path: PAGE.path, text, blocks };
}

function labelsIn(line: string): Record<string, string> {
  const pairs = [...line.matchAll(/(\w+)="([^"]*)"/g)];
  return Object.fromEntries(pairs.map(([, name, value]) => [name, value]));
}

function matches(labels: Record<string, string>, matchers: string): boolean {
  return [...matchers.matchAll(/(\w+)=~?"([^"]*)"/g)].every(([, name = "", value = ""]) =>
    value.split("|").includes(labels[name] ?? ""),
  );
}

const customers = Array.from({ length: 4 }, (_, i) => `198.51.100.${i}`);

test("incident: one client floods, is found and is blocked everywhere", async () => {
  const flooder = "203.0.113.7";
  const client = subjectOfAddress(flooder);
  const heard = recordDecisions();
  const flooded = watch("One client floods");
  const instances = await startTwo();
  await Promise.all([1, 2, 3, 4, 5, 6].map(() => statusesOf(instances, flooder)));
  expect(await areServed(instances, ...customers)).toBe(true);
  expect(await flooded()).toEqual([{ "orders allowed": 5 + 8, "orders denied": 7 }]);
  const denied = heard.filter(({ decision }) => !decision.wouldAllow);
  expect(new Set(denied.map(({ subject }) => subject["default"]))).toEqual(new Set([client]));
  expect(await operator().inspect(orders, client)).toMatchObject({
    limits: [{ remaining: 0 }],
    blocked: false,
  });

  await untilEffective(await operator().block(orders, client, "1h", { reason: "flood" }));
  const blocked = watch("One client floods");
  for (const { askAs } of instances) {
    const { status, headers } = await askAs(flooder);
    expect(status).toBe(429);
    // The limit alone would recover after twelve minutes.
    expect(Number(headers["retry-after"])).toBeGreaterThan(3_000);
    expect((await askAs("198.51.100.1")).status).toBe(200);
  }
  expect(await blocked()).toEqual([{ "orders blocked": 2, "orders allowed": 2 }]);
});

test("incident: one client floods; the commands find, block and unblock it", async () => {
  const flooder = "203.0.113.7";
  const instances = await startTwo();
  for (const { store } of instances) await writeRegistry(store);
  await Promise.all([1, 2, 3, 4].map(() => statusesOf(instances, flooder)));
  await statusesOf(instances, "198.51.100.1");
  const { subjects } = await headgateJson("top", "orders");
  expect(subjects[0]).toMatchObject({ subject: flooder, used: 5 });

  const who = ["--ip", flooder, "--limiter", "orders"];
  const [blocked] = (await headgateJson("block", "1h", ...who, "--reason", "flood")).done;
  await untilEffective({ effectiveAt: new Date(blocked.effectiveAt) });
  for (const { askAs } of instances) {
    expect(Number((await askAs(flooder)).headers["retry-after"])).toBeGreaterThan(3_000);
    expect((await askAs("198.51.100.1")).status).toBe(200);
  }
  expect((await headgate("explain", ...who)).exitCode).toBe(1);

  await headgateJson("unblock", ...who);
  const [reset] = (await headgateJson("reset", ...who)).done;
  await untilEffective({ effectiveAt: new Date(reset.effectiveAt) });
  expect(await areServed(instances, flooder)).toBe(true);
  expect((await headgate("explain", ...who)).exitCode).toBe(0);
  const { entries } = await headgateJson("log");
  expect(entries.map(({ kind }: { kind: string }) => kind)).toEqual(["reset", "unblock", "block"]);
});

test("incident: all clients are limited; shadow mode helps until the proxy is trusted", async () => {
  const heard = recordDecisions();
  const before = watch("All clients are limited");
  const instances = await startTwo({}, false);
  expect(await statusesOf(instances, ...customers)).toEqual([...Array(5).fill(200), 429, 429, 429]);
  expect(await before()).toEqual([{ orders: 3 }, { orders: 8 }, {}]);
  expect(new Set(heard.map(({ subject }) => subject["default"]))).toEqual(new Set(["127.0.0.1"]));
  for (const { warnings } of instances) {
    expect(warnings).toMatchObject([{ code: "HEADGATE_PROXY_NOT_TRUSTED" }]);
  }

  const shadow = { limiter: "orders", shadow: true };
  await untilEffective(await operator().setOverride(shadow, { for: "1h" }));
  const shadowed = watch("All clients are limited");
  expect(await areServed(instances, ...customers)).toBe(true);
  expect(await shadowed()).toEqual([{}, {}, { orders: 8 }]);

  const mended = await startTwo();
  const quiet = watch("All clients are limited");
  await statusesOf(mended, ...customers);
  expect(await quiet()).toEqual([{}, {}, {}]);
  await untilEffective(await operator().unsetOverride({ limiter: "orders" }));
  const after = watch("All clients are limited");
  await Promise.all([1, 2, 3].map(() => statusesOf(mended, "203.0.113.7")));
  expect(await areServed(mended, ...customers)).toBe(true);
  expect(await after()).toEqual([{ orders: 1 }, { orders: 14 }, {}]);
});

describe("incident: no client is limited", () => {
  const flooder = Array(6).fill("203.0.113.7");

  test("because of a forgotten override", async () => {
    const forgotten = { limiter: "orders", shadow: true };
    await untilEffective(await operator().setOverride(forgotten, { for: "forever" }));
    const before = watch("No client is limited");
    const instances = await startTwo();
    expect(await areServed(instances, ...flooder)).toBe(true);
    const [seen = {}] = await before();
    expect(seen).toMatchObject({ "orders allowed store true": 5 });
    expect(Object.keys(seen).every((labels) => labels.endsWith(" true"))).toBe(true);
    expect((await operator().readControl()).overrides).toMatchObject([forgotten]);

    await untilEffective(await operator().unsetOverride({ limiter: "orders" }));
    const after = watch("No client is limited");
    expect(await statusesOf(instances, "203.0.113.7", "198.51.100.1")).toEqual([
      429, 429, 200, 200,
    ]);
    expect(await after()).toEqual([
      { "orders denied store false": 2, "orders allowed store false": 2 },
    ]);
  });

  test("because the limiter is in shadow mode, until an override enforces it", async () => {
    const instances = await startTwo({ shadow: true });
    for (const { store } of instances) await writeRegistry(store);
    expect(await areServed(instances, ...flooder)).toBe(true);
    const { limiters } = await readRegistry(own.client);
    expect(new Set(limiters.map(({ shadow }) => shadow))).toEqual(new Set([true]));
    await untilEffective(await operator().setOverride({ limiter: "orders", shadow: false }));
    const after = watch("No client is limited");
    expect(await statusesOf(instances, "203.0.113.7")).toEqual([429, 429]);
    expect(await after()).toEqual([{ "orders denied store false": 2 }]);
  });

  test("because Redis is unavailable or an allow list is too wide, as the source label shows", async () => {
    const client = new Redis("/nowhere/redis.sock");
    client.on("error", () => {});
    onTestFinished(() => client.disconnect());
    const see = watch("No client is limited");
    const store = redisStore(client);
    const away = await startTwo({ store, name: "away", storeTimeout: 50, onUnavailable: "allow" });
    const listed = await startTwo({ allowList: ["203.0.113.0/24"] });
    expect(await areServed([...away, ...listed], ...flooder)).toBe(true);
    expect(await see()).toEqual([
      { "away allowed allow false": 12, "orders listed allow-list false": 12 },
    ]);
  });

  test("because of a forged header, with a warning", async () => {
    const instances = await startTwo({}, true);
    const forged = flooder.map((_, i) => `203.0.113.${i}`);
    expect(await areServed(instances, ...forged)).toBe(true);
    for (const { warnings } of instances) {
      expect(warnings).toMatchObject([{ code: "HEADGATE_ALL_PROXIES_TRUSTED" }]);
    }
  });

  test("because each process has another name or no store, as the registry shows", async () => {
    const one = await start(fastifyFramework, { name: "orders-1" });
    const two = await start(express5Framework, { name: "orders-2" });
    await start(fastifyFramework, { name: undefined, store: undefined });
    for (const { store } of [one, two]) await writeRegistry(store);
    const { limiters } = await readRegistry(own.client);
    expect(limiters.map(({ name, processes }) => [name, processes.length])).toEqual([
      ["orders-1", 1],
      ["orders-2", 1],
    ]);
  });
});

test("incident: Redis is slow; requests are served meanwhile, and Redis decides again by itself", async () => {
  const see = watch("Redis is slow");
  const limits = gcra({ limit: 100_000, window: "1h" });
  const instances = await startTwo({ limits, storeTimeout: "200ms" });
  const sourceOf = async ({ askAs }: Instance) =>
    ((await askAs("203.0.113.7")).json() as { source: string }).source;
  const decidesAgain = () =>
    waitUntil("Redis decides", 10_000, async () => {
      const sources = await Promise.all(instances.map(sourceOf));
      return sources.every((source) => source === "store") || undefined;
    });
  onTestFinished(() => own.server.thaw());
  await decidesAgain();
  own.server.freeze();
  const began = performance.now();
  expect(await Promise.all(instances.map(sourceOf))).toEqual(["local", "local"]);
  expect(performance.now() - began).toBeLessThan(5_000);
  const [durations, degraded, up] = await see();
  expect((durations?.["orders +Inf"] ?? 0) - (durations?.["orders 0.1"] ?? 0)).toBeGreaterThan(1);
  expect(degraded?.["orders local"]).toBeGreaterThan(1);
  expect(up).toEqual({ store: 0 });
  const hasty = createAdmin(redisStore(own.client), { storeTimeout: 100 });
  await expect(hasty.block(orders, "203.0.113.8", "1h")).rejects.toMatchObject({
    code: "HEADGATE_STORE_UNAVAILABLE",
  });
  const who = ["--ip", "203.0.113.8", "--limiter", "orders"];
  const block = await headgate("block", "1h", ...who, "--timeout", "100ms");
  expect([block.exitCode, block.stderr]).toEqual([3, expect.stringMatching(/^headgate: .+\n$/)]);
  expect((await headgate("doctor", "--timeout", "100ms")).exitCode).toBe(3);

  own.server.thaw();
  await decidesAgain();
  // Removes the cause of the slowness.
  await own.client.config("SET", "slowlog-log-slower-than", "10000");
  await own.client.eval("for i = 1, 3e5 do redis.sha1hex('') end", 0);
  const { checks } = JSON.parse((await headgate("doctor", "--json")).stdout);
  expect(checks).toContainEqual(
    expect.objectContaining({ name: "slow-commands", status: "warning" }),
  );
  await waitUntil(
    "it is known to be up",
    5_000,
    async () => (await see())[2]?.["store"] || undefined,
  );
});

test("incident: a limit is wrong after a deploy; an override corrects it until the next one", async () => {
  const client = "203.0.113.7";
  const see = watch("A limit is wrong after a deploy");
  const deployed = gcra({ limit: 2, window: "1h" });
  const old = await start(fastifyFramework);
  const wrong = await start(express5Framework, { limits: deployed });
  for (const { store } of [old, wrong]) await writeRegistry(store);
  expect(await statusesOf([wrong], client, client, client)).toEqual([200, 200, 429]);
  const [used] = await see();
  expect(used?.["orders +Inf"]).toBe(3);
  expect(used?.["orders 0.9"]).toBe(1);
  const { limiters } = await readRegistry(own.client);
  const names = limiters.map(({ shapes }) => shapes.flatMap(({ limits }) => limits));
  expect(names.flat().sort()).toEqual(["2-per-1h", "5-per-1h"]);
  expect(limiters).toMatchObject([{ hasOtherVersions: true }, { hasOtherVersions: true }]);

  const right = { limiter: "orders", limits: { "2-per-1h": { limit: 5 } } };
  checkOverride(deployed, right);
  await untilEffective(await operator().setOverride(right, { for: "12h" }));
  const { status, headers } = await wrong.askAs(client);
  expect([status, headers["ratelimit-policy"]]).toEqual([200, '"2-per-1h";q=5;w=3600']);
  // Two units were used before.
  expect(headers["x-ratelimit-remaining"]).toBe("2");
  expect(await statusesOf([old], client)).toEqual([200]);
  expect(old.warnings).toMatchObject([{ code: "HEADGATE_OVERRIDE_IGNORED" }]);

  const mended = await start(express5Framework);
  await operator().unsetOverride({ limiter: "orders" });
  const response = await mended.askAs(client);
  expect([response.status, response.headers["x-ratelimit-remaining"]]).toEqual([200, "0"]);
});

test("incident: a customer complains; the log says why, and the block is ended", async () => {
  const [address = "", other = ""] = customers;
  const customer = subjectOfAddress(address);
  const instances = await startTwo();
  await statusesOf(instances, address, address, address);
  await operator().block(orders, customer, "1d", { by: "bob", reason: "taken for another" });
  expect(await statusesOf(instances, address)).toEqual([429, 429]);
  expect(await operator().inspect(orders, customer)).toMatchObject({
    limits: [{ remaining: 0 }],
    blocked: true,
  });
  const { entries } = await operator().log();
  expect(entries.filter(({ subject }) => subject?.["default"] === customer)).toMatchObject([
    { kind: "block", by: "bob", reason: "taken for another" },
  ]);

  await operator().unblock(orders, customer);
  const more = { limiter: "orders", subject: { default: customer } };
  await operator().reset(orders, customer);
  await untilEffective(
    await operator().setOverride({ ...more, limits: { "5-per-1h": { limit: 50 } } }),
  );
  for (const [i, { askAs }] of instances.entries()) {
    expect(await askAs(address)).toMatchObject({
      status: 200,
      headers: { "x-ratelimit-limit": "50", "x-ratelimit-remaining": String(49 - i) },
    });
    expect((await askAs(other)).headers["x-ratelimit-limit"]).toBe("5");
  }
});

test("every alert and panel on the page exists, and each alert links to its incident", () => {
  const rules = readFileSync(join(DIR, "alerts.yml"), "utf8");
  const dashboard = readFileSync(join(DIR, "dashboard.json"), "utf8");
  const panels = [...PAGE.text.matchAll(/panel "([^"]+)"/g)];
  expect(panels.length).toBeGreaterThan(0);
  for (const [, title] of panels) expect(dashboard).toContain(`"title": "${title}"`);
  const [alerts] = tablesOf(section(page("docs/how-to/operate.md"), "The alerts"));
  for (const heading of PAGE.text.matchAll(/^## (.+)$/gm)) {
    const [, title = ""] = heading;
    const { path, text } = incidentOf(title);
    const prose = text.replace(/^```[\s\S]*?^```$/gm, "");
    for (const name of codeIn(prose).filter((code) => /^Headgate[A-Z]/.test(code))) {
      expect(rules).toContain(`- alert: ${name}\n`);
      const said = alerts?.rows.find(([alert = ""]) => codeIn(alert)[0] === name)?.at(-1) ?? "";
      const links = linksOf({ ...page("docs/how-to/operate.md"), text: said });
      const anchor = title.toLowerCase().replaceAll(" ", "-");
      expect(links, name).toContainEqual({ target: path, anchor });
    }
  }
});
