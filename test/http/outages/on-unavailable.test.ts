import type { Decision } from "@headgate/core";
import { gcra } from "@headgate/core";
import { HeadgateDeniedError } from "@headgate/core/http";
import { expect, test } from "vitest";
import { describeAdapters } from "../support/describe-frameworks.ts";
import { useLosableRedis } from "../support/losable-redis.ts";
import { parseFields } from "../support/rate-limit-fields.ts";
import { secondsLeft } from "../support/seconds-left.ts";
import type { TestResponse } from "../support/send-request.ts";

const limits = gcra({ limit: 2, window: "1h", name: "hourly" });
const roomy = gcra({ limit: 1_000, window: "1h" });

/** Longer than the default, for a machine that does other things as well. */
const storeTimeout = "300ms";

/** The headers that report numbers. */
function numbersIn({ headers }: TestResponse): string[] {
  return Object.keys(headers).filter((name) => /^(x-)?ratelimit/.test(name));
}

describeAdapters(({ serve }) => {
  const redis = useLosableRedis();

  test('onUnavailable: "local", the default, applies the same limits in this process, marked as degraded', async () => {
    const store = await redis.openStore();
    const site = await serve({ limits: { name: "api", limits, store, storeTimeout } });
    const before = await site.sendRequest();
    expect(before.json()).toMatchObject({ source: "store", degraded: false, remaining: 1 });
    redis.lose();
    const first = await site.sendRequest();
    expect(first.status).toBe(200);
    expect(first.json()).toMatchObject({ source: "local", degraded: true, remaining: 1 });
    expect(first.headers).toMatchObject({
      "x-ratelimit-limit": "2",
      "x-ratelimit-remaining": "1",
    });
    expect(parseFields(first.headers["ratelimit-policy"])).toEqual([
      { name: "hourly", q: 2, w: 3_600 },
    ]);
    expect((await site.sendRequest()).status).toBe(200);
    const denied = await site.sendRequest();
    expect(denied.status).toBe(429);
    expect(denied.json()).toMatchObject({
      type: expect.stringMatching(/#quota-exceeded$/),
      "violated-policies": ["hourly"],
    });
    expect(denied.headers).toMatchObject({
      "retry-after": secondsLeft(1_800),
      "x-ratelimit-remaining": "0",
      "cache-control": "no-store",
    });
    expect(site.errors).toEqual([]);
  });

  test('onUnavailable: "allow" allows every request, without numbers', async () => {
    const store = await redis.openStore();
    const site = await serve({ limits: { name: "api", limits, store, onUnavailable: "allow" } });
    for (let i = 0; i < 2; i += 1) await site.sendRequest();
    redis.lose();
    for (let i = 0; i < 5; i += 1) {
      const response = await site.sendRequest();
      expect(response.status).toBe(200);
      expect(response.json()).toMatchObject({
        allowed: true,
        source: "allow",
        degraded: true,
        limits: [],
      });
      expect(numbersIn(response)).toEqual([]);
      expect(response.headers).not.toHaveProperty("retry-after");
    }
  });

  test('onUnavailable: "deny" denies every request with 503', async () => {
    const store = await redis.openStore();
    const deny = {
      name: "api",
      limits: roomy,
      store,
      storeTimeout,
      onUnavailable: "deny",
    } as const;
    const site = await serve({ limits: deny });
    await site.sendRequest();
    redis.lose();
    for (let i = 0; i < 3; i += 1) {
      const response = await site.sendRequest();
      expect(response.status).toBe(503);
      expect(response.headers).toMatchObject({
        "retry-after": "1",
        "cache-control": "no-store",
        "content-type": "application/problem+json",
      });
      expect(numbersIn(response)).toEqual([]);
      expect(response.json()).toEqual({
        type: "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",
        title: "Service Unavailable",
        status: 503,
        "violated-policies": [],
      });
    }
    expect(site.handled).toHaveLength(1);
    expect(site.errors).toEqual([]);
    await redis.restore();
    expect((await site.sendRequest()).json()).toMatchObject({ source: "store", degraded: false });
  });

  test('onDenied runs for onUnavailable: "deny" with status and headers set, and req.rateLimit shows the source', async () => {
    const store = await redis.openStore();
    const seen: [onRequest: unknown, decision: Decision][] = [];
    const site = await serve({
      limits: {
        name: "api",
        limits,
        store,
        onUnavailable: "deny",
        onDenied: (request, send, decision) => {
          seen.push([request.rateLimit, decision]);
          send(503, "come back");
        },
      },
    });
    redis.lose();
    const response = await site.sendRequest();
    expect(response).toMatchObject({ status: 503, text: "come back" });
    expect(response.headers).toMatchObject({ "retry-after": "1", "cache-control": "no-store" });
    expect(seen).toHaveLength(1);
    expect(seen[0]?.[0]).toBe(seen[0]?.[1]);
    expect(seen[0]?.[1]).toMatchObject({ source: "deny", degraded: true, retryAfterMs: 1_000 });
  });

  test("Headgate sends the 503 if onDenied does not respond", async () => {
    const store = await redis.openStore();
    const deny = { name: "api", limits, store, onUnavailable: "deny" } as const;
    const site = await serve({ limits: { ...deny, onDenied: () => {} } });
    redis.lose();
    expect(await site.sendRequest()).toMatchObject({
      status: 503,
      text: expect.stringContaining("#temporary-reduced-capacity"),
    });
  });

  test.each([true, false])(
    'onDenied: "error" passes a HeadgateDeniedError with status 503 (own handler: %s)',
    async (ownErrorHandler) => {
      const store = await redis.openStore();
      const deny = { name: "api", limits, store, onUnavailable: "deny" } as const;
      const site = await serve({ limits: { ...deny, onDenied: "error" }, ownErrorHandler });
      redis.lose();
      const response = await site.sendRequest();
      expect(response.status).toBe(503);
      expect(response.headers).toMatchObject({ "retry-after": "1", "cache-control": "no-store" });
      expect(site.handled).toEqual([]);
      if (!ownErrorHandler) return;
      expect(site.errors[0]).toBeInstanceOf(HeadgateDeniedError);
      expect(site.errors).toMatchObject([
        { code: "HEADGATE_DENIED", status: 503, statusCode: 503, decision: { source: "deny" } },
      ]);
    },
  );

  test("a denial without numbers removes headers of another limiter that show remaining units", async () => {
    const store = await redis.openStore();
    const site = await serve({
      limits: [{ limits }, { name: "api", limits, store, onUnavailable: "deny" }],
    });
    redis.lose();
    const response = await site.sendRequest();
    expect(response.status).toBe(503);
    expect(response.headers).not.toHaveProperty("x-ratelimit-remaining");
  });
});
