import { BlockList } from "node:net";
import { describe, expect, test } from "vitest";
import { fixedWindow } from "../algorithms/fixed-window.ts";
import type { HeadgateError } from "../common/errors.ts";
import { byHeader, byIp } from "./keys.ts";
import { GUARD_OPTIONS, parseGuardOptions } from "./parse-guard-options.ts";
import { byTier, perRequest } from "./request-limits.ts";

function errorOf(options: unknown, more?: readonly string[]): HeadgateError {
  try {
    parseGuardOptions("rateLimit", options as object, undefined, more);
  } catch (error) {
    return error as HeadgateError;
  }
  throw new Error("nothing was thrown");
}

/** Options of other limiters that have a counterpart here, and what the message must name. */
const PEERS: readonly (readonly [string, string])[] = [
  // express-rate-limit
  ["windowMs", "limits"],
  ["max", "limits"],
  ["limit", "limits"],
  ["message", "onDenied"],
  ["statusCode", "onDenied"],
  ["handler", "onDenied"],
  ["retryAfter", "onDenied"],
  ["legacyHeaders", "headers: { legacy }"],
  ["standardHeaders", "headers: { standard }"],
  ["identifier", "name"],
  ["keyGenerator", "key: "],
  ["ipv6Subnet", "byIp({ ipv6Prefix })"],
  ["requestPropertyName", "limit.decisionOf(request)"],
  ["skipSuccessfulRequests", 'count: "failed"'],
  ["skipFailedRequests", 'count: "succeeded"'],
  [
    "requestWasSuccessful",
    "count, a function that returns whether a request counts: !requestWasSuccessful",
  ],
  // @fastify/rate-limit
  ["timeWindow", "limits"],
  ["redis", "store: redisStore(client)"],
  ["nameSpace", "prefix"],
  ["errorResponseBuilder", "onDenied"],
  ["onExceeded", "onDenied"],
  ["addHeaders", "headers"],
  ["addHeadersOnExceeding", "headers"],
  ["enableDraftSpec", 'headers: { legacy: "ratelimit" }'],
  ["groupId", "name"],
  ["global", "register without limits"],
  ["whitelist", "allowList"],
  ["cache", "memoryStore({ maxKeys })"],
  ["continueExceeding", "block of a limit, longer each time"],
  ["ban", "block: { after, for } of a limit"],
  ["exponentialBackoff", "list of blocks"],
  ["onExceeding", "headgate:decision"],
  ["onBanReach", "decision.blocked"],
  ["freeRetries", "fixedWindow"],
  ["maxWait", "last block"],
  // rate-limiter-flexible
  ["points", "limits"],
  ["duration", "limits"],
  ["storeClient", "store: redisStore(client)"],
  ["keyPrefix", "name"],
  ["blockDuration", "block of a limit"],
  ["blockOnConsumed", "block: { after, for } of a limit"],
  ["penaltyBox", "block of a limit"],
  ["inMemoryBlockOnConsumed", "block: { after, for } of a limit"],
  ["inMemoryBlockDuration", "block: { after, for } of a limit"],
  ["timeoutMs", "storeTimeout"],
  ["rejectIfRedisNotReady", "storeTimeout"],
  ["rejectIfValkeyNotReady", "storeTimeout"],
  ["useRedisPackage", "by its methods"],
  ["useRedis3AndLowerPackage", "by its methods"],
  ["execEvenly", "limiter.wait(subject)"],
  ["execEvenlyMinDelayMs", "limiter.wait(subject)"],
  ["maxQueueSize", "maxQueue"],
  ["whiteList", "allowList"],
  ["isWhiteListed", "allowList: (request, address)"],
  ["blackList", "denyList"],
  ["isBlackListed", "denyList: (request, address)"],
  // express-slow-down
  ["delayAfter", "limit.decisionOf(request)"],
  ["delayMs", "limit.decisionOf(request)"],
  ["maxDelayMs", "limit.decisionOf(request)"],
  // @nestjs/throttler
  ["ttl", "limits"],
  ["throttlers", "limits: [slidingLog({ limit, window }), ...]"],
  ["getTracker", "key: "],
  ["generateKey", "key: (request)"],
  ["ipv6SubnetPrefix", "byIp({ ipv6Prefix })"],
  ["setHeaders", "headers: false"],
  ["skipIf", "skip: "],
  ["ignoreUserAgents", "skip: "],
  ["storage", "store: redisStore(client)"],
  ["errorMessage", "onDenied"],
  // koa-ratelimit
  ["db", "store: redisStore(client)"],
  ["id", "key: "],
  ["blacklist", "denyList"],
  ["disableHeader", "headers: false"],
  ["onLimited", "onDenied"],
  ["throw", 'onDenied: "error"'],
  ["dryRun", "shadow"],
  // What each of them has for a store that is away.
  ["passOnStoreError", "onUnavailable"],
  ["skipOnError", "onUnavailable"],
  ["insuranceLimiter", "onUnavailable"],
];

/** Options of theirs that have none, are for later, or would be misread. */
const FOREIGN = [
  "validate",
  "window",
  "burst",
  "algorithm",
  "per",
  "Limits",
  "keys",
  "onLimit",
  "header",
  "",
  "constructor",
  "toString",
  "hook",
  "extend",
];

const limit = fixedWindow({ limit: 1, window: "1m" });

describe("unknown options", () => {
  test.each([
    ["max", () => 5, "perRequest(fixedWindow({ limit, window }), (request) => ...)"],
    ["limit", async () => 5, "perRequest(fixedWindow({ limit, window }), (request) => ...)"],
    ["timeWindow", () => 5, "byTier(tiers, (request) => ...)"],
  ])(
    "the option %s of another library is rejected with Headgate's equivalent if it is a function",
    (option, value, ours) => {
      expect(() => parseGuardOptions("rateLimit", { [option]: value })).toThrow(
        `rateLimit: unknown option "${option}"; Headgate's way is limits: ${ours}`,
      );
      expect(() => parseGuardOptions("rateLimit", { [option]: 5 })).toThrow(
        "limits: fixedWindow({ limit, window })",
      );
    },
  );

  test.each(PEERS)(
    "the option %s of another library is rejected with Headgate's equivalent",
    (option, ours) => {
      const error = errorOf({ [option]: 100 });
      expect(error.code).toBe("HEADGATE_INVALID_OPTION");
      expect(error.message).toMatch(new RegExp(`^rateLimit: unknown option "${option}"; `));
      expect(error.message.split("; ")[1]).toContain(ours);
    },
  );

  test.each(FOREIGN)(
    "the unknown option %j is rejected, and the message lists all options",
    (option) => {
      const error = errorOf({ limits: {}, [option]: undefined });
      expect(error.code).toBe("HEADGATE_INVALID_OPTION");
      expect(error.message).toContain(`unknown option ${JSON.stringify(option)}`);
      for (const known of GUARD_OPTIONS) expect(error.message).toContain(known);
    },
  );

  test("the option __proto__ from JSON is rejected", () => {
    const error = errorOf(JSON.parse('{ "__proto__": { "skip": true } }'));
    expect(error.message).toContain('unknown option "__proto__"');
  });

  test("an option of one adapter is rejected by the others", () => {
    expect(errorOf({ hook: "onRequest" }).message).toContain('unknown option "hook"');
    expect(() =>
      parseGuardOptions("headgate", { hook: "onRequest" } as object, undefined, ["hook"]),
    ).not.toThrow();
    expect(errorOf({ hooks: "onRequest" }, ["hook"]).message).toMatch(/it takes .*hook/);
  });

  test("the error for an unknown option with a very long name is one short line", () => {
    const { message } = errorOf({ [`${"x".repeat(10_000)}\n`]: 1 });
    expect(message.length).toBeLessThan(400);
    expect(message).not.toContain("\n");
  });
});

describe("the options object", () => {
  test("getters of unknown options are not called", () => {
    const options = {
      get limit() {
        throw new Error("must not be asked");
      },
    };
    expect(errorOf(options).message).toMatch(/^rateLimit: unknown option "limit"/);
  });

  test.each([[null], [undefined], [5], ["100/m"], [true], [[]], [[{ limits: {} }]], [() => {}]])(
    "options must be an object, not %j",
    (options) => {
      const error = errorOf(options);
      expect(error.code).toBe("HEADGATE_INVALID_OPTION");
      expect(error.message).toMatch(/^rateLimit: options must be an object, got \S/);
    },
  );

  test("error messages begin with the owner of the options", () => {
    const refuse = () => parseGuardOptions("headgate on api GET /x", { max: 5 } as object);
    expect(refuse).toThrow(/^headgate on api GET \/x: /);
  });

  test("all options may be missing or undefined", () => {
    expect(() => parseGuardOptions("rateLimit", {})).not.toThrow();
    const none = Object.fromEntries(GUARD_OPTIONS.map((option) => [option, undefined]));
    expect(() => parseGuardOptions("rateLimit", none)).not.toThrow();
  });
});

describe("option values", () => {
  test.each<[string, unknown]>([
    ["missingKey", "ip"],
    ["missingKey", "reject"],
    ["missingKey", "skip"],
    ["skip", () => true],
    ["skip", async () => true],
    ["allowList", ["10.0.0.0/8", "2001:db8::1"]],
    ["allowList", []],
    ["denyList", new BlockList()],
    ["denyList", async () => true],
    ["cost", 1],
    ["cost", 2 ** 53 - 1],
    ["cost", () => 1],
    ["key", byIp()],
    ["key", byHeader("x-api-key")],
    ["key", async () => "user-1"],
    ["key", { user: () => "user-1", ip: byIp() }],
    ["key", {}],
    ["onDenied", () => {}],
    ["onDenied", "error"],
    ["headers", false],
    ["headers", { reset: "epoch" }],
    ["wait", "2s"],
    ["wait", false],
    ["maxQueue", 1],
    ["limits", limit],
    ["limits", [limit]],
    ["limits", byTier({ free: limit, premium: [limit] }, () => "free")],
  ])("%s may be %j", (option, value) => {
    expect(() => parseGuardOptions("rateLimit", { [option]: value })).not.toThrow();
  });

  const refused: [string, unknown, string][] = [
    ["missingKey", "deny", '"deny"'],
    ["missingKey", "IP", '"IP"'],
    ["missingKey", null, "null"],
    ["missingKey", true, "true"],
    ["missingKey", ["ip"], '["ip"]'],
    ["allowList", "10.0.0.0/8", '"10.0.0.0/8"'],
    ["allowList", ["10.0.0.1", "10.0.0.0/33"], '"10.0.0.0/33"'],
    ["denyList", ["gateway.example"], '"gateway.example"'],
    ["denyList", null, "null"],
    ["skip", true, "true"],
    ["skip", "/health", '"/health"'],
    ["skip", ["/health"], '["/health"]'],
    ["skip", null, "null"],
    ["cost", -1, "-1"],
    ["cost", -1, "-1"],
    ["cost", 0.5, "0.5"],
    ["cost", Number.NaN, "NaN"],
    ["cost", Number.POSITIVE_INFINITY, "Infinity"],
    ["cost", 2 ** 53, "9007199254740992"],
    ["cost", "5", '"5"'],
    ["cost", 5n, "5n"],
    ["cost", null, "null"],
    ["key", "x-api-key", '"x-api-key"'],
    ["key", null, "null"],
    ["key", 5, "5"],
    ["key", { user: "x-user" }, '{"user":"..."}'],
    ["key", { ip: byIp(), user: undefined }, "{}"],
    ["key", { user: null }, '{"user":null}'],
    ["key", [byHeader("x-api-key")], "[a function]"],
    ["key", [], "[]"],
    ["wait", "1h", '"1h"'],
    ["maxQueue", 0, "0"],
    ["maxQueue", 1.5, "1.5"],
    ["maxQueue", Number.POSITIVE_INFINITY, "Infinity"],
    ["onDenied", "throw", '"throw"'],
    ["onDenied", true, "true"],
    ["onDenied", null, "null"],
    ["onDenied", { status: 429 }, '{"status":429}'],
  ];

  test.each(refused.map(([option, value, received]) => [option, received, value] as const))(
    "%s may not be %s",
    (option, received, value) => {
      const error = errorOf({ [option]: value });
      expect(error.code).toBe("HEADGATE_INVALID_OPTION");
      expect(error.message).toMatch(new RegExp(`^rateLimit: ${option} must be `));
      expect(error.message.endsWith(`, got ${received}`)).toBe(true);
    },
  );

  test.each([
    ["draft-7"],
    [null],
    [5],
    [[]],
    [{ draft: 7 }],
    [{ legacy: 1 }],
    [{ standard: null }],
  ])("headers may not be %j", (headers) => {
    const error = errorOf({ headers });
    expect(error.code).toBe("HEADGATE_INVALID_OPTION");
    expect(error.message).toContain("headers: ");
  });

  test.each([
    [null],
    ["gcra"],
    [{}],
    [[null]],
    [[limit, {}]],
    [{ ...limit, limit: -1 }],
    [{ ...limit, window: "soon" }],
    [[limit, { ...limit, max: 5 }]],
  ])("limits may not be %j", (limits) => {
    expect(errorOf({ limits }).code).toBe("HEADGATE_INVALID_LIMIT");
    const ofRequest = perRequest(limits as never, () => null);
    expect(errorOf({ limits: ofRequest }).code).toBe("HEADGATE_INVALID_LIMIT");
    // A tier may be without limits.
    if (limits === null) return;
    const tiers = byTier({ free: limit, premium: limits as never }, () => "free");
    expect(errorOf({ limits: tiers }).code).toBe("HEADGATE_INVALID_LIMIT");
  });

  test("limits may not be an empty list, nor may a tier's", () => {
    for (const limits of [[], byTier({ free: limit, premium: [] }, () => "free")]) {
      expect(errorOf({ limits })).toMatchObject({
        code: "HEADGATE_INVALID_LIMIT",
        message: "rateLimit: limits must hold at least one, got []",
      });
    }
  });
});
