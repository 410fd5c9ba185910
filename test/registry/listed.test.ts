import { BlockList } from "node:net";
import { createBreaker } from "@headgate/breaker";
import type { Store } from "@headgate/core";
import { concurrency, createLimiter, fixedWindow, gcra, slidingLog } from "@headgate/core";
import type { RegistryLimiter } from "@headgate/core/admin";
import { readRegistry } from "@headgate/core/admin";
import { createHttpGuard } from "@headgate/core/http";
import { redisStore } from "@headgate/core/redis";
import { byHeader, byIp, byTier, combineKeys, perRequest, rateLimit } from "@headgate/express";
import headgate from "@headgate/fastify";
import express from "express";
import Fastify from "fastify";
import { describe, expect, onTestFinished, test } from "vitest";
import { uniquePrefix } from "../http/support/redis-client.ts";
import { useOwnDatabase } from "../support/own-database.ts";
import { writeRegistry } from "../support/write-registry.ts";
import { coreVersion } from "./core-version.ts";

const redis = useOwnDatabase();

function openStore(): Store {
  return redisStore(redis, { prefix: uniquePrefix() });
}

/** What is listed on a store, by name. */
async function limitersOn(store: Store): Promise<Record<string, RegistryLimiter>> {
  await writeRegistry(store);
  const { limiters, unreadable } = await readRegistry(store);
  expect(unreadable).toEqual([]);
  return Object.fromEntries(limiters.map((limiter) => [limiter.name, limiter]));
}

/** The last part of a limiter's keys, by dimension. */
async function fingerprintsIn(prefix: string): Promise<string[]> {
  const keys = await redis.keys(`${prefix}:*`);
  return keys
    .filter((key) => !key.includes("{registry}"))
    .map((key) => key.split(":").at(-1) ?? "");
}

describe("a limiter in the registry", () => {
  test("is listed with its policy as configured, and with the endings of its keys", async () => {
    const store = openStore();
    const limits = [
      gcra({ limit: 10, window: "1s", burst: 5 }),
      fixedWindow({ limit: 1_000, window: "month", timeZone: "Europe/Berlin", per: "tenant" }),
      concurrency({ limit: 2, ttl: "30s", per: "tenant" }),
    ];
    const limiter = createLimiter({ name: "api", limits, store, storeTimeout: "10s" });
    onTestFinished(() => limiter.close());
    const { api } = await limitersOn(store);
    expect(api).toEqual({
      kind: "limiter",
      name: "api",
      policy: expect.stringMatching(/^[\w-]{8}$/),
      limits,
      shapes: [
        { per: "default", fingerprint: expect.any(String), limits: ["10-per-1s"] },
        { per: "tenant", fingerprint: expect.any(String), limits: ["1000-per-month"] },
        { per: "tenant", fingerprint: expect.any(String), limits: ["2-at-once"] },
      ],
      shadow: false,
      onUnavailable: "local",
      localShare: 1,
      uses: [],
      version: coreVersion,
      processes: [expect.any(String)],
      hasOtherVersions: false,
    });
    await limiter.consume({ default: "u", tenant: "t" });
    const fingerprints = await fingerprintsIn(store.prefix);
    for (const { fingerprint } of api?.shapes ?? []) expect(fingerprints).toContain(fingerprint);
  });

  test("is listed with shadow mode, and with the limiter that it extends", async () => {
    const store = openStore();
    const day = fixedWindow({ limit: 9, window: "1d" });
    const shadow = true;
    const parent = createLimiter({ name: "parent", limits: day, store, shadow });
    const limits = slidingLog({ limit: 3, window: "1h", block: ["1m", "1h"] });
    const child = createLimiter({ name: "child", limits, extends: parent, shadow });
    onTestFinished(() => Promise.all([parent.close(), child.close()]).then(() => {}));
    const found = await limitersOn(store);
    expect(found["parent"]).toMatchObject({ shadow: true, limits: [day] });
    expect(found["parent"]).not.toHaveProperty("extends");
    expect(found["child"]).toMatchObject({ shadow: true, limits: [limits], extends: "parent" });
    expect(found["child"]?.shapes).toHaveLength(1);
  });

  test("is listed once if created several times, until the last instance is closed", async () => {
    const store = openStore();
    const make = () =>
      createLimiter({ name: "api", limits: gcra({ limit: 1, window: "1s" }), store });
    const [one, other] = [make(), make()];
    expect(Object.keys(await limitersOn(store))).toEqual(["api"]);
    await one.close();
    expect(Object.keys(await limitersOn(store))).toEqual(["api"]);
    const kept = createLimiter({ name: "kept", limits: gcra({ limit: 1, window: "1s" }), store });
    onTestFinished(() => kept.close());
    await other.close();
    expect(Object.keys(await limitersOn(store))).toEqual(["kept"]);
  });

  test("that is too long is listed by its name only", async () => {
    const store = openStore();
    const limits = Array.from({ length: 100 }, (_, i) =>
      gcra({
        limit: i + 1,
        window: "1h",
        name: `${i}`.padEnd(64, "x"),
        per: `${i}`.padEnd(64, "y"),
      }),
    );
    const limiter = createLimiter({ name: "long", limits, store });
    onTestFinished(() => limiter.close());
    const { long } = await limitersOn(store);
    expect(long).toMatchObject({ isTruncated: true, limits: [], shapes: [], uses: [] });
  });

  test("lists at most 64 of its shapes", async () => {
    const store = openStore();
    const limits = Array.from({ length: 65 }, (_, i) =>
      gcra({ limit: 1, window: "1s", per: `d${i}` }),
    );
    const limiter = createLimiter({ name: "wide", limits, store });
    onTestFinished(() => limiter.close());
    const { wide } = await limitersOn(store);
    expect(wide?.limits).toHaveLength(65);
    expect(wide?.shapes).toHaveLength(64);
  });
});

describe("the listed sources of subjects", () => {
  const per = <const Per extends string>(name: Per) => gcra({ limit: 5, window: "1m", per: name });

  test("behind Express have the configured keys, without secrets, addresses of lists and functions", async () => {
    const store = openStore();
    const list = new BlockList();
    list.addAddress("198.51.100.77");
    const limit = rateLimit({
      name: "api",
      store,
      limits: [per("ip"), per("key"), per("login"), per("own"), per("global")],
      key: {
        ip: byIp({ ipv6Prefix: 56, ipv4Prefix: 24 }),
        key: byHeader("X-Api-Key", { hashSecret: "a very secret secret" }),
        login: combineKeys(byHeader("authorization"), byIp(), (request) => request.ip),
        own: (request) => request.ip,
      },
      missingKey: "skip",
      address: { header: "CF-Connecting-IP", trust: ["203.0.113.99"] },
      allowList: ["192.0.2.66"],
      denyList: list,
    });
    onTestFinished(() => limit.close());
    const { api } = await limitersOn(store);
    expect(api?.uses).toEqual([
      {
        adapter: "express",
        keys: {
          ip: { by: "ip", ipv6Prefix: 56, ipv4Prefix: 24 },
          key: { by: "header", name: "x-api-key", hash: "hmac" },
          login: {
            by: "combined",
            keys: [
              { by: "header", name: "authorization", hash: "sha256" },
              { by: "ip", ipv6Prefix: 64 },
              { by: "function" },
            ],
          },
          own: { by: "function" },
        },
        missingKey: "skip",
        addressHeader: "cf-connecting-ip",
        allowList: "addresses",
        denyList: "addresses",
      },
    ]);
    const texts = await everyText(store.prefix);
    for (const hidden of ["secret", "198.51.100.77", "203.0.113.99", "192.0.2.66", "=>"]) {
      expect(texts).not.toContain(hidden);
    }
  });

  test("are the same for two secrets", async () => {
    const store = openStore();
    const texts: string[] = [];
    for (const hashSecret of ["one", "another"]) {
      const limit = rateLimit({
        name: "api",
        store,
        limits: gcra({ limit: 5, window: "1m" }),
        key: byHeader("x-api-key", { hashSecret }),
      });
      await limitersOn(store);
      const [record = ""] = await redis.keys(`${store.prefix}:{registry}:record/*`);
      texts.push((await redis.get(record)) ?? "");
      await limit.close();
    }
    expect(texts[0]).toContain("hmac");
    expect(texts[1]).toBe(texts[0]);
  });

  test("behind Fastify include the plugin's and those of its routes", async () => {
    const store = openStore();
    const app = Fastify();
    onTestFinished(() => app.close());
    const limits = gcra({ limit: 100, window: "1m" });
    const own = gcra({ limit: 5, window: "1m" });
    await app.register(headgate, { name: "site", store, limits, allowList: () => false });
    const handler = async () => "";
    app.get("/own", { config: { rateLimit: { limits: own, key: byHeader("x-user") } } }, handler);
    app.get("/dear", { config: { rateLimit: { cost: 5, missingKey: "reject" } } }, handler);
    app.get("/more", { config: { rateLimit: { limits: own, extend: true } } }, handler);
    await app.ready();
    const found = await limitersOn(store);
    const use = { adapter: "fastify", missingKey: "ip", allowList: "function" } as const;
    const ip = { default: { by: "ip", ipv6Prefix: 64 } };
    expect(Object.keys(found)).toEqual(["site", "site GET /more", "site GET /own"]);
    expect(found["site"]).toMatchObject({ limits: [limits], shadow: false });
    expect(found["site"]?.uses).toEqual([
      { ...use, keys: ip },
      { ...use, keys: ip, missingKey: "reject" },
    ]);
    const key = { default: { by: "header", name: "x-user", hash: "sha256" } };
    expect(found["site GET /own"]).toMatchObject({ limits: [own], uses: [{ ...use, keys: key }] });
    expect(found["site GET /more"]).toMatchObject({
      extends: "site",
      uses: [{ ...use, keys: ip }],
    });
  });

  test("exist for tiers, for limits of a request, and for a given limiter", async () => {
    const store = openStore();
    const [free, paid] = [gcra({ limit: 5, window: "1m" }), gcra({ limit: 50, window: "1m" })];
    const tiered = rateLimit({
      name: "plan",
      store,
      limits: byTier({ free, paid, internal: null }, () => "free"),
    });
    const requested = rateLimit({ name: "asked", store, limits: perRequest(free, () => paid) });
    const limiter = createLimiter({ name: "given", store, limits: free });
    const app = express();
    app.use(rateLimit({ limiter, key: (request) => request.ip }));
    const made = [tiered, requested, limiter];
    onTestFinished(() => Promise.all(made.map((one) => one.close())).then(() => {}));
    const found = await limitersOn(store);
    expect(Object.keys(found)).toEqual(["asked", "given", "plan (free)", "plan (paid)"]);
    expect(found["plan (paid)"]).toMatchObject({ limits: [paid], uses: [{ adapter: "express" }] });
    expect(found["asked"]).toMatchObject({ limits: [free], uses: [{ adapter: "express" }] });
    expect(found["given"]).toMatchObject({ uses: [{ keys: { default: { by: "function" } } }] });
  });

  test("behind the application's own adapter have the adapter's name", async () => {
    const store = openStore();
    const limits = gcra({ limit: 5, window: "1m" });
    const named = createHttpGuard("limit", { name: "koa", store, limits }, { name: "koa" });
    const other = createHttpGuard("limit", { name: "other", store, limits });
    onTestFinished(() => Promise.all([named.close(), other.close()]).then(() => {}));
    const found = await limitersOn(store);
    expect(found["koa"]?.uses).toMatchObject([{ adapter: "koa" }]);
    expect(found["other"]?.uses).toMatchObject([{ adapter: "http" }]);
    for (const name of ["", "x".repeat(65), 5]) {
      const make = () => createHttpGuard("limit", { limits }, { name: name as string });
      expect(make).toThrow(expect.objectContaining({ code: "HEADGATE_INVALID_OPTION" }));
    }
  });
});

describe("a breaker in the registry", () => {
  test("is listed with the options that affect decisions", async () => {
    const store = openStore();
    const breaker = createBreaker({
      name: "bank",
      store,
      storeTimeout: "10s",
      window: { calls: 50 },
      minimumSuccessRate: 0.8,
      openFor: (opened) => (opened === 1 ? "1s" : "10s"),
      isFailure: () => false,
      maxTargets: 5,
    });
    await writeRegistry(store);
    const { limiters, breakers } = await readRegistry(store);
    expect(limiters).toEqual([]);
    expect(breakers).toEqual([
      {
        kind: "breaker",
        name: "bank",
        policy: expect.stringMatching(/^[\w-]{8}$/),
        options: {
          storeTimeout: "10s",
          window: { calls: 50 },
          minimumSuccessRate: 0.8,
          openFor: ["1s", "10s"],
        },
        fingerprint: expect.any(String),
        version: coreVersion,
        processes: [expect.any(String)],
        hasOtherVersions: false,
        targets: [],
      },
    ]);
    await breaker.record("success");
    await breaker.snapshot();
    expect(await fingerprintsIn(store.prefix)).toContain(breakers[0]?.fingerprint);
    await breaker.close();
    expect(await readRegistry(store)).toMatchObject({ breakers: [], processes: [] });
  });

  test("may share its name with a limiter", async () => {
    const store = openStore();
    const limiter = createLimiter({ name: "x", store, limits: gcra({ limit: 1, window: "1s" }) });
    const breaker = createBreaker({ name: "x", store });
    onTestFinished(() => Promise.all([limiter.close(), breaker.close()]).then(() => {}));
    await writeRegistry(store);
    const { limiters, breakers } = await readRegistry(store);
    expect([...limiters, ...breakers].map(({ kind, name }) => `${kind} ${name}`)).toEqual([
      "limiter x",
      "breaker x",
    ]);
  });
});

/** All that a registry holds. */
async function everyText(prefix: string): Promise<string> {
  const keys = await redis.keys(`${prefix}:{registry}*`);
  return (await redis.mget(keys)).join("\n");
}
