import type { Limit } from "@headgate/core";
import { gcra } from "@headgate/core";
import type { ByHeaderOptions } from "@headgate/core/http";
import { byHeader } from "@headgate/core/http";
import { redisStore } from "@headgate/core/redis";
import { expect, test } from "vitest";
import { describeAdapters } from "./support/describe-frameworks.ts";
import { uniquePrefix, useRedis } from "./support/redis-client.ts";

const SECRET = "sk-live-4f9a1c7be2";

const limits: Limit = gcra({ limit: 2, window: "1h" });

describeAdapters(({ serve }) => {
  const redis = useRedis();

  /** Sends a secret, and returns the Redis keys of its counters. */
  async function keysAfter(options?: ByHeaderOptions, value = SECRET): Promise<string[]> {
    const prefix = uniquePrefix();
    const store = redisStore(redis, { prefix });
    const { sendRequest } = await serve({
      limits: {
        name: "api",
        limits,
        store,
        storeTimeout: "1m",
        key: byHeader("X-Api-Key", options),
      },
    });
    expect((await sendRequest("/", { headers: { "x-api-key": value } })).status).toBe(200);
    const all = await redis.keys(`${prefix}:*`);
    // Fastify tries the server before the first request, under a subject of its own.
    const keys = all.filter((key) => !key.endsWith("{ready-0}:probe"));
    expect(keys).toHaveLength(1);
    return keys.map((key) => key.slice(prefix.length));
  }

  test("the value of a header is never readable in Redis", async () => {
    const [key = ""] = await keysAfter();
    expect(key).not.toContain(SECRET);
    expect(key).not.toContain(Buffer.from(SECRET).toString("base64url"));
    expect(key).not.toContain(Buffer.from(SECRET).toString("hex"));
  });

  test("byHeader always gives the same hash, and another one with a hashSecret", async () => {
    const plain = await keysAfter();
    const salted = await keysAfter({ hashSecret: "pepper" });
    expect(await keysAfter()).toEqual(plain);
    expect(await keysAfter({ hashSecret: "pepper" })).toEqual(salted);
    expect(salted).not.toEqual(plain);
    expect(await keysAfter({ hashSecret: "salt" })).not.toEqual(salted);
    expect(await keysAfter({}, `${SECRET}!`)).not.toEqual(plain);
  });

  test("the length of a key in Redis does not depend on the header", async () => {
    const [key = ""] = await keysAfter({}, "x".repeat(12_000));
    expect(key.length).toBeLessThan(120);
  });

  test("each value of a header is counted separately, and a missing header counts by address", async () => {
    const { sendRequest } = await serve({ limits: { limits, key: byHeader("x-api-key") } });
    const remaining = async (headers: Record<string, string>) =>
      (await sendRequest("/", { headers })).headers["x-ratelimit-remaining"];
    expect(await remaining({ "x-api-key": "one" })).toBe("1");
    expect(await remaining({ "X-API-KEY": "two" })).toBe("1");
    expect(await remaining({ "X-Api-Key": "one" })).toBe("0");
    expect(await remaining({})).toBe("1");
    expect(await remaining({ "x-api-key": "" })).toBe("0");
  });

  test("a client that sends the text of a hash is not counted as the hashed value", async () => {
    const { sendRequest } = await serve({
      limits: {
        limits: gcra({ limit: 1, window: "1h" }),
        key: async (request, address) =>
          byHeader("x-api-key")(request, address) ?? (request.headers["x-user"] as string),
      },
    });
    await sendRequest("/", { headers: { "x-api-key": "one" } });
    const hash = "~sha256~dpLDrTVAu4A8Agl-Ke-8rmKATHuLVY5mRvPiQOKXl6c";
    for (const user of [hash, hash.slice(1), hash.slice(8)]) {
      expect((await sendRequest("/", { headers: { "x-user": user } })).status).toBe(200);
    }
  });

  test("byHeader rejects invalid header names and secrets", () => {
    for (const name of ["", "x api", "x:api", 5, undefined, null]) {
      expect(() => byHeader(name as never)).toThrow(/header name/);
    }
    for (const hashSecret of ["", 5, null]) {
      expect(() => byHeader("x-api-key", { hashSecret: hashSecret as never })).toThrow(
        /hashSecret/,
      );
    }
    expect(() => byHeader("x-api-key", { secret: "s" } as never)).toThrow(/hashSecret/);
  });
});
