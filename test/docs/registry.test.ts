import { createBreaker } from "@headgate/breaker";
import { createLimiter, gcra } from "@headgate/core";
import { readRegistry } from "@headgate/core/admin";
import { redisStore } from "@headgate/core/redis";
import { byHeader, byIp, combineKeys, rateLimit } from "@headgate/express";
import { beforeAll, expect, test } from "vitest";
import { useOwnRedis } from "../support/own-redis.ts";
import { writeRegistry } from "../support/write-registry.ts";
import { page, section } from "./markdown.ts";

const own = useOwnRedis();

const REGISTRY = section(page("docs/reference/usage.md"), "The registry");
let found: Awaited<ReturnType<typeof readRegistry>>;

/** Registers an entry of each kind. */
beforeAll(async () => {
  await own.client.flushall();
  const store = redisStore(own.client);
  const limits = gcra({ limit: 5, window: "1m" });
  const site = createLimiter({ name: "site", store, limits });
  const route = createLimiter({ name: "route", store, limits, extends: site });
  const limit = rateLimit({
    limiter: route,
    key: combineKeys(byIp(), byHeader("x-user"), byHeader("x-key", { hashSecret: "s" }), () => "u"),
    address: { header: "x-client", trust: ["10.0.0.1"] },
    allowList: ["10.0.0.2"],
    denyList: () => false,
  });
  const breaker = createBreaker({ name: "bank", store });
  await writeRegistry(store);
  found = await readRegistry(store);
  await Promise.all([limit, route, site, breaker].map((one) => one.close()));
});

test("a limiter's registry entry names the kinds of keys that adapters count by", () => {
  const route = found.limiters.find(({ name }) => name === "route");
  expect(route?.uses[0]?.keys).toEqual({
    default: {
      by: "combined",
      keys: [
        { by: "ip", ipv6Prefix: 64 },
        { by: "header", name: "x-user", hash: "sha256" },
        { by: "header", name: "x-key", hash: "hmac" },
        { by: "function" },
      ],
    },
  });
});

test("all keys in Redis have the documented prefixes and expire within the documented time", async () => {
  const [, start = ""] =
    /keys begin with `([^`]+)` and expire within two hours/.exec(REGISTRY) ?? [];
  const store = redisStore(own.client);
  const limiter = createLimiter({ name: "x", store, limits: gcra({ limit: 5, window: "1m" }) });
  await writeRegistry(store);
  const keys = (await own.scan()).map(String).sort();
  const kinds = ["", ":process/", ":record/"];
  expect(keys).toHaveLength(kinds.length);
  for (const [i, key] of keys.entries()) {
    expect(key.startsWith(`${start}${kinds[i]}`), key).toBe(true);
    const expiry = await own.client.pttl(key);
    expect(expiry).toBeGreaterThan(0);
    expect(expiry).toBeLessThanOrEqual(2 * 3_600_000);
  }
  await limiter.close();
});
