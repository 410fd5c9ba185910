import { createLimiter, gcra, memoryStore } from "@headgate/core";
import { expect, test } from "vitest";
import { describeAdapters } from "./support/describe-frameworks.ts";
import type { SharedOptions } from "./support/framework.ts";

const limits = gcra({ limit: 5, window: "1m" });

/** What users of other limiters write, and what the error must tell them to write here. */
const peers = [
  ["max", "limits"],
  ["limit", "limits"],
  ["points", "limits"],
  ["windowMs", "window"],
  ["timeWindow", "window"],
  ["duration", "window"],
  ["keyGenerator", "key"],
  ["ipv6Subnet", "ipv6Prefix"],
  ["redis", "store"],
  ["storeClient", "store"],
  ["keyPrefix", "name"],
  ["nameSpace", "name"],
  ["identifier", "name"],
  ["groupId", "name"],
  ["handler", "onDenied"],
  ["message", "onDenied"],
  ["statusCode", "onDenied"],
  ["errorResponseBuilder", "onDenied"],
  ["onExceeded", "onDenied"],
  ["standardHeaders", "standard"],
  ["legacyHeaders", "legacy"],
  ["addHeaders", "headers"],
  ["addHeadersOnExceeding", "headers"],
  ["enableDraftSpec", "legacy"],
  ["requestPropertyName", "limit.decisionOf"],
  ["skipFailedRequests", "count"],
  ["skipSuccessfulRequests", "count"],
  ["requestWasSuccessful", "count"],
  ["passOnStoreError", "onUnavailable"],
  ["skipOnError", "onUnavailable"],
  ["delayAfter", "limit.decisionOf"],
  ["delayMs", "limit.decisionOf"],
  ["maxDelayMs", "limit.decisionOf"],
  ["whitelist", "allowList"],
  ["isBlackListed", "denyList"],
  ["insuranceLimiter", "onUnavailable"],
] as const;

/** Options whose effect elsewhere somebody may rely on, with no counterpart here yet. */
const withoutCounterpart = ["ban", "cache", "continueExceeding", "validate", "global"] as const;

describeAdapters(({ serve }) => {
  const serving = (options: object) => serve({ limits: options as SharedOptions });

  test.each(peers)("%s is an error that names %s", async (option, ours) => {
    await expect(serving({ limits, [option]: 1 })).rejects.toMatchObject({
      code: "HEADGATE_INVALID_OPTION",
      message: expect.stringMatching(new RegExp(`"${option}".*\\b${ours}\\b`)),
    });
  });

  test.each(withoutCounterpart)("%s is an unknown option", async (option) => {
    await expect(serving({ limits, [option]: 1 })).rejects.toMatchObject({
      code: "HEADGATE_INVALID_OPTION",
      message: expect.stringContaining(`"${option}"`),
    });
  });

  test.each(["keys", "Limits", "toString", "constructor"])(
    "%s, misspelt or an inherited property, is an unknown option",
    async (option) => {
      await expect(serving({ limits, [option]: 1 })).rejects.toMatchObject({
        code: "HEADGATE_INVALID_OPTION",
      });
    },
  );

  test("either limits or a limiter is required", async () => {
    const limiter = createLimiter({ limits });
    const wrong: object[] = [
      { limits: undefined },
      { limiter, limits },
      { limiter, name: "api" },
      { limiter, store: memoryStore() },
      { limiter, storeTimeout: "1s" },
      { limiter, onUnavailable: "deny" },
      { limiter, localShare: 0.5 },
      { limiter, denyCache: false },
      { limiter, lease: false },
      { limiter, maxQueue: 5 },
      { limiter, shadow: true },
      { limiter: {} },
      { limiter: limits },
      { limits, name: "api", store: {} },
      { limits, name: "api", store: { get() {}, set() {} } },
    ];
    for (const options of wrong) {
      await expect(serving(options)).rejects.toMatchObject({ code: "HEADGATE_INVALID_OPTION" });
    }
  });

  test.each([
    ["storeTimeout", 0],
    ["storeTimeout", 0.5],
    ["storeTimeout", "2m"],
    ["storeTimeout", "soon"],
    ["storeTimeout", null],
    ["storeTimeout", Number.POSITIVE_INFINITY],
    ["onUnavailable", "closed"],
    ["onUnavailable", true],
    ["onUnavailable", null],
    ["localShare", 0],
    ["localShare", -0.5],
    ["localShare", 1.5],
    ["localShare", "0.5"],
    ["localShare", Number.NaN],
    ["denyCache", "no"],
    ["denyCache", 0],
    ["count", "none"],
    ["count", 1],
    ["maxQueue", 0],
    ["maxQueue", "100"],
    ["shadow", 1],
    ["shadow", "log"],
    ["lease", true],
    ["lease", 100],
  ])("%s: %j is an error that names option and value", async (option, value) => {
    await expect(serving({ limits, [option]: value })).rejects.toMatchObject({
      code: "HEADGATE_INVALID_OPTION",
      message: expect.stringMatching(
        new RegExp(
          `${option} must be .*got ${typeof value === "number" ? value : JSON.stringify(value)}`,
        ),
      ),
    });
  });

  test.each([
    [{ limit: -1, window: "1m" }],
    [{ limit: Number.NaN, window: "1m" }],
    [{ limit: undefined, window: "1m" }],
    [{ limit: -1, window: "1m" }],
    [{ limit: "5", window: "1m" }],
    [{ limit: 1.5, window: "1m" }],
    [{ limit: 5, window: 0.5 }],
    [{ limit: 5, window: "1 fortnight" }],
    [{ limit: 5, window: "400d" }],
    [{ limit: 5, window: () => "1m" }],
    [{ limit: 5, window: "1m", max: 5 }],
  ])("a limit of %j is an error, and is not replaced by a default", async (limit) => {
    const serves = serving({ limits: { algorithm: "gcra", ...limit } });
    await expect(serves).rejects.toMatchObject({ code: "HEADGATE_INVALID_LIMIT" });
  });

  test("empty limits are an error, so that requests are not unlimited", async () => {
    for (const none of [[], null, "100/1m", 5, () => limits]) {
      await expect(serving({ limits: none })).rejects.toMatchObject({
        code: expect.stringMatching(/^HEADGATE_INVALID_/),
      });
    }
  });

  test("limits may be plain JSON instead of a builder", async () => {
    const json = JSON.parse('{ "algorithm": "gcra", "limit": 5, "window": "1m" }');
    const { sendRequest } = await serving({ limits: json });
    expect((await sendRequest()).headers["x-ratelimit-remaining"]).toBe("4");
  });
});
