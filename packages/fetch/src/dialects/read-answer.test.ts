import { fc, test as property } from "@fast-check/vitest";
import { describe, expect, test } from "vitest";
import type { Budget, ProviderAnswer } from "./dialect.ts";
import { DIALECTS } from "./dialects.ts";
import { readAnswer } from "./read-answer.ts";
import { needsBody, readBody } from "./read-body.ts";

const NOW = Date.parse("2026-03-01T12:00:00Z");

function read(
  status: number,
  headers: Readonly<Record<string, string>>,
  names?: Parameters<typeof readAnswer>[2],
): ProviderAnswer {
  return readAnswer({ status, header: (name) => headers[name] }, NOW, names);
}

function budget(unit: string, remaining: number, more: Partial<Budget> = {}): Budget {
  const none = { bucket: undefined, limit: undefined, resetMs: undefined, windowMs: undefined };
  return { ...none, unit, remaining, ...more };
}

const seconds = (count: number): number => count * 1_000;

describe("the budgets of an answer", () => {
  // https://datatracker.ietf.org/doc/html/draft-ietf-httpapi-ratelimit-headers-10#section-4
  test("are read from the RateLimit fields of the IETF draft, with the quotas of their policies", () => {
    const answer = read(200, {
      ratelimit: '"default";r=50;t=30',
      "ratelimit-policy": '"default";q=100;w=60',
    });
    const one = { limit: 100, resetMs: seconds(30), windowMs: seconds(60) };
    expect(answer).toMatchObject({ dialect: "ietf", isLimited: false, unreadable: [] });
    expect(answer.budgets).toEqual([budget("requests", 50, one)]);
    const two = read(200, {
      ratelimit: '"burst";r=5;t=1, "daily" ; r=999',
      "ratelimit-policy":
        '"burst";q=10;w=1,"daily";q=1000;w=86400;qu="content-bytes";pk=:cHNsZg==:',
    });
    expect(two.budgets).toEqual([
      budget("requests", 5, { bucket: "burst", limit: 10, resetMs: 1_000, windowMs: 1_000 }),
      budget("content-bytes", 999, { bucket: "daily", limit: 1_000, windowMs: seconds(86_400) }),
    ]);
  });

  // https://datatracker.ietf.org/doc/html/draft-ietf-httpapi-ratelimit-headers-07#section-5
  test("are read from drafts 6 and 7", () => {
    const expected = [budget("requests", 50, { limit: 100, resetMs: seconds(30) })];
    expect(read(200, { ratelimit: "limit=100, remaining=50, reset=30" }).budgets).toEqual(expected);
    const draft6 = {
      "ratelimit-limit": "100, 100;w=60",
      "ratelimit-remaining": "50",
      "ratelimit-reset": "30",
    };
    expect(read(200, draft6)).toMatchObject({ dialect: "ratelimit", budgets: expected });
  });

  test.each([
    ["seconds", "30"],
    ["seconds since the epoch", String(NOW / 1_000 + 30)],
    ["milliseconds since the epoch", String(NOW + 30_000)],
    ["an RFC 3339 time", "2026-03-01T12:00:30Z"],
    ["an HTTP date", "Sun, 01 Mar 2026 12:00:30 GMT"],
  ])("are read from X-RateLimit headers whose reset is in %s", (_, reset) => {
    const headers = {
      "x-ratelimit-limit": "100",
      "x-ratelimit-remaining": "50",
      "x-ratelimit-reset": reset,
    };
    const expected = [budget("requests", 50, { limit: 100, resetMs: seconds(30) })];
    expect(read(200, headers)).toMatchObject({ dialect: "x-ratelimit", budgets: expected });
  });

  test("measure times by the clock of the provider", () => {
    const headers = {
      date: "Sun, 01 Mar 2026 13:00:00 GMT",
      "x-rate-limit-remaining": "0",
      "x-rate-limit-reset": String(NOW / 1_000 + 3_600 + 20),
    };
    expect(read(429, headers)).toMatchObject({ dialect: "x-rate-limit", waitMs: seconds(20) });
  });

  // https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api#checking-the-status-of-your-rate-limit
  test("of GitHub are those of the resource, which has a name unless it is the core API", () => {
    const headers = {
      "x-github-request-id": "F1D3:2A",
      "x-ratelimit-limit": "5000",
      "x-ratelimit-remaining": "4987",
      "x-ratelimit-reset": String(NOW / 1_000 + 1_800),
      "x-ratelimit-resource": "core",
      "x-ratelimit-used": "13",
    };
    const more = { limit: 5_000, resetMs: seconds(1_800) };
    expect(read(200, headers)).toMatchObject({
      dialect: "github",
      budgets: [budget("requests", 4_987, more)],
    });
    const search = read(200, { ...headers, "x-ratelimit-resource": "search" });
    expect(search.budgets).toEqual([budget("requests", 4_987, { ...more, bucket: "search" })]);
  });

  // https://platform.openai.com/docs/guides/rate-limits#rate-limits-in-headers
  test("of OpenAI are requests and tokens, with durations as Go prints them", () => {
    const headers = {
      "x-ratelimit-limit-requests": "60",
      "x-ratelimit-limit-tokens": "150000",
      "x-ratelimit-remaining-requests": "59",
      "x-ratelimit-remaining-tokens": "149984",
      "x-ratelimit-reset-requests": "1s",
      "x-ratelimit-reset-tokens": "6m0s",
    };
    expect(read(200, headers)).toMatchObject({
      dialect: "openai",
      budgets: [
        budget("requests", 59, { limit: 60, resetMs: seconds(1) }),
        budget("tokens", 149_984, { limit: 150_000, resetMs: seconds(360) }),
      ],
    });
  });

  // https://docs.claude.com/en/api/rate-limits#response-headers
  test("of Anthropic are requests and tokens, with RFC 3339 times", () => {
    const headers = {
      "anthropic-ratelimit-requests-limit": "1000",
      "anthropic-ratelimit-requests-remaining": "999",
      "anthropic-ratelimit-requests-reset": "2026-03-01T12:00:01Z",
      "anthropic-ratelimit-input-tokens-limit": "80000",
      "anthropic-ratelimit-input-tokens-remaining": "78000",
      "anthropic-ratelimit-input-tokens-reset": "2026-03-01T12:00:02Z",
    };
    expect(read(200, headers)).toMatchObject({
      dialect: "anthropic",
      budgets: [
        budget("requests", 999, { limit: 1_000, resetMs: seconds(1) }),
        budget("input-tokens", 78_000, { limit: 80_000, resetMs: seconds(2) }),
      ],
    });
  });

  // https://shopify.dev/docs/api/admin-rest/usage/rate-limits
  test("of Shopify's REST API are the used requests and the size of the bucket", () => {
    const answer = read(200, { "x-shopify-shop-api-call-limit": "32/40" });
    expect(answer).toMatchObject({
      dialect: "shopify",
      budgets: [budget("requests", 8, { limit: 40 })],
    });
  });

  // https://docs.discord.com/developers/topics/rate-limits#header-format-rate-limit-header-examples
  test("of Discord are those of a bucket, and its more precise reset time", () => {
    const headers = {
      "x-ratelimit-limit": "5",
      "x-ratelimit-remaining": "0",
      "x-ratelimit-reset": "1470173023",
      "x-ratelimit-reset-after": "1.25",
      "x-ratelimit-bucket": "abcd1234",
    };
    expect(read(200, headers)).toMatchObject({
      dialect: "discord",
      budgets: [budget("requests", 0, { limit: 5, bucket: "abcd1234", resetMs: 1_250 })],
    });
  });

  test("are read in the first of several dialects, and only in those asked for", () => {
    const headers = { ratelimit: '"a";r=1;t=5', "x-ratelimit-remaining": "2" };
    expect(read(200, headers).budgets).toMatchObject([{ remaining: 1 }]);
    expect(read(200, headers, ["x-ratelimit"]).budgets).toMatchObject([{ remaining: 2 }]);
    expect(read(200, headers, []).budgets).toEqual([]);
    expect(read(429, { ...headers, "retry-after": "7" }, []).waitMs).toBe(seconds(7));
  });
});

describe("an answer that was limited", () => {
  test.each([
    ["in seconds", "120", 120_000],
    ["in seconds with a fraction, as Shopify sends it", "2.0", 2_000],
    ["as an HTTP date", "Sun, 01 Mar 2026 12:02:00 GMT", 120_000],
    ["as an HTTP date of RFC 850", "Sunday, 01-Mar-26 12:02:00 GMT", 120_000],
    ["as an HTTP date of asctime", "Sun Mar  1 12:02:00 2026", 120_000],
    ["in the past", "Sun, 01 Mar 2026 11:00:00 GMT", 0],
  ])("says with Retry-After how long to wait: %s", (_, value, ms) => {
    const expected = { isLimited: true, waitMs: ms, unreadable: [] };
    expect(read(429, { "retry-after": value })).toMatchObject(expected);
    expect(read(503, { "retry-after": value })).toMatchObject(expected);
    expect(read(200, { "retry-after": value })).toMatchObject({
      isLimited: false,
      waitMs: undefined,
    });
  });

  test("says it in milliseconds with retry-after-ms, which is more precise", () => {
    expect(read(429, { "retry-after-ms": "1500", "retry-after": "2" }).waitMs).toBe(1_500);
  });

  test("is a 429, and a 503 only with Retry-After", () => {
    expect(read(429, {})).toMatchObject({ isLimited: true, waitMs: undefined });
    expect(read(503, {}).isLimited).toBe(false);
  });

  // https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api#exceeding-the-rate-limit
  test("of GitHub is also a 403 without requests left, with Retry-After, or with the message of a secondary limit", () => {
    const headers = {
      "x-github-request-id": "F1D3:2A",
      "x-ratelimit-remaining": "0",
      "x-ratelimit-reset": String(NOW / 1_000 + 90),
    };
    const left = { ...headers, "x-ratelimit-remaining": "4000" };
    expect(read(403, headers)).toMatchObject({ isLimited: true, waitMs: seconds(90) });
    expect(read(403, { ...left, "retry-after": "60" })).toMatchObject({ waitMs: seconds(60) });
    const answer = read(403, left);
    expect(answer.isLimited).toBe(false);
    const parts = { status: 403, path: "/repos", contentType: "application/json; charset=utf-8" };
    expect(needsBody(parts, answer)).toBe(true);
    expect(needsBody({ ...parts, contentType: "text/html" }, answer)).toBe(false);
    expect(needsBody({ ...parts, status: 404 }, answer)).toBe(false);
    const secondary =
      '{"message":"You have exceeded a secondary rate limit. Please wait a few minutes"}';
    expect(readBody(secondary, answer, 403)).toMatchObject({
      isLimited: true,
      waitMs: seconds(60),
    });
    const other = '{"message":"Resource not accessible by integration"}';
    expect(readBody(other, answer, 403)).toBe(answer);
    expect(read(403, { "x-ratelimit-remaining": "0" }).isLimited).toBe(false);
  });

  // https://docs.github.com/en/graphql/overview/rate-limits-and-query-limits-for-the-graphql-api
  test("of GitHub's GraphQL API is a 200 with an error, and waits for the reset", () => {
    const parts = { status: 200, path: "/graphql", contentType: "application/json" };
    const headers = {
      "x-github-request-id": "F1D3:2A",
      "x-ratelimit-remaining": "0",
      "x-ratelimit-reset": String(NOW / 1_000 + 90),
    };
    const head = read(200, headers);
    expect([needsBody(parts, head), head.isLimited]).toEqual([true, false]);
    expect(needsBody({ ...parts, path: "/repos" }, head)).toBe(false);
    const message = "API rate limit exceeded for user ID 1.";
    for (const type of ["RATE_LIMITED", "RATE_LIMIT"]) {
      const body = JSON.stringify({ errors: [{ type, message }] });
      expect(readBody(body, head, 200)).toMatchObject({ isLimited: true, waitMs: seconds(90) });
      const left = read(200, { ...headers, "x-ratelimit-remaining": "7" });
      expect(readBody(body, left, 200)).toMatchObject({ isLimited: true, waitMs: seconds(60) });
    }
    const done = [{ data: { title: message } }, { errors: [{ type: "NOT_FOUND", message }] }, null];
    for (const body of done) expect(readBody(JSON.stringify(body), head, 200)).toBe(head);
  });

  // https://platform.openai.com/docs/guides/rate-limits: the time until the bucket is full is not the time to wait.
  test("of OpenAI without Retry-After gives no time, because a bucket refills gradually", () => {
    const headers = {
      "x-ratelimit-remaining-requests": "0",
      "x-ratelimit-reset-requests": "6m0s",
    };
    expect(read(429, headers)).toMatchObject({ isLimited: true, waitMs: undefined });
  });

  // https://docs.discord.com/developers/topics/rate-limits#exceeding-a-rate-limit-rate-limit-response-structure
  test("of Discord waits for Retry-After, or else for the reset of the bucket", () => {
    const headers = {
      "x-ratelimit-remaining": "0",
      "x-ratelimit-reset-after": "64.57",
      "x-ratelimit-bucket": "abcd1234",
      "x-ratelimit-scope": "user",
    };
    expect(read(429, { ...headers, "retry-after": "65" }).waitMs).toBe(seconds(65));
    expect(read(429, headers).waitMs).toBe(64_570);
  });

  // https://docs.stripe.com/rate-limits, and stripe-node's lib/RequestSender.js for the second header.
  test("of Stripe names the limiter, and may say not to send again", () => {
    const answer = read(429, {
      "stripe-rate-limited-reason": "global-concurrency",
      "stripe-should-retry": "false",
    });
    expect(answer).toMatchObject({ dialect: "stripe", isLimited: true, shouldRetry: false });
    expect(read(409, { "stripe-should-retry": "true" }).shouldRetry).toBe(true);
  });

  // https://docs.slack.dev/apis/web-api/rate-limits
  test("of Slack has only Retry-After", () => {
    expect(read(429, { "retry-after": "30" })).toMatchObject({
      dialect: undefined,
      waitMs: seconds(30),
    });
  });

  // https://shopify.dev/docs/api/usage/limits
  test("of Shopify's GraphQL API is a 200 with an error, and waits until the query fits", () => {
    const parts = {
      status: 200,
      path: "/admin/api/2026-01/graphql.json",
      contentType: "application/json",
    };
    const head = read(200, {});
    expect(needsBody(parts, head)).toBe(true);
    expect(needsBody({ ...parts, path: "/graphql" }, head)).toBe(false);
    expect(needsBody(parts, head, ["github"])).toBe(false);
    expect(needsBody(parts, read(200, { "x-github-request-id": "1" }))).toBe(false);
    const throttleStatus = { maximumAvailable: 1_000, currentlyAvailable: 52.5, restoreRate: 50 };
    const cost = { requestedQueryCost: 202, actualQueryCost: null, throttleStatus };
    const errors = [{ message: "Throttled", extensions: { code: "THROTTLED" } }];
    expect(readBody(JSON.stringify({ errors, extensions: { cost } }), head, 200)).toMatchObject({
      dialect: "shopify",
      isLimited: true,
      waitMs: 2_990,
      budgets: [budget("points", 52, { limit: 1_000 })],
    });
    const done = readBody(JSON.stringify({ data: {}, extensions: { cost } }), head, 200);
    expect(done).toMatchObject({
      isLimited: false,
      waitMs: undefined,
      budgets: [{ remaining: 52 }],
    });
    for (const text of ["", "null", "[]", '{"extensions":{"cost":{}}}', "{".repeat(100_000)]) {
      expect(readBody(text, head, 200)).toBe(head);
    }
  });
});

test.each(["315360000", "99999999999999", "Fri, 31 Dec 9999 23:59:59 GMT"])(
  "a time of many years is a year, and not the shorter backoff of an answer without a time: %s",
  (value) => {
    expect(read(429, { "retry-after": value })).toMatchObject({
      waitMs: 366 * 86_400_000,
      unreadable: [],
    });
  },
);

describe("nonsense in headers", () => {
  test.each([
    ["x-ratelimit-remaining", "-1"],
    ["x-ratelimit-remaining", "many"],
    ["x-ratelimit-remaining", "1e9"],
    ["x-ratelimit-reset", "Tue Feb 16 2021 09:02:42 GMT+0100 (Central European Standard Time)"],
    ["x-ratelimit-reset", "soon"],
    ["retry-after", "-5"],
    ["retry-after", "9999999999999999"],
  ])("is ignored and listed: %s: %s", (name, value) => {
    const headers = { "x-ratelimit-remaining": "5", [name]: value };
    const answer = read(429, headers);
    expect(answer.unreadable).toEqual([name]);
    expect(answer.waitMs).toBeUndefined();
    expect(answer.budgets).toHaveLength(name === "x-ratelimit-remaining" ? 0 : 1);
  });

  test("in a RateLimit field is ignored and listed as a whole", () => {
    for (const value of [
      "50",
      '"a"',
      '"a";r=-1',
      '"a";r=1;',
      '"a;r=1',
      '"a";r=1,,"b";r=2',
      "r=1=2",
    ]) {
      const answer = read(200, { ratelimit: value });
      expect([value, answer.budgets, answer.unreadable]).toEqual([value, [], ["ratelimit"]]);
    }
  });
});

const HEADERS = [
  ...new Set(
    DIALECTS.flatMap(({ recognisedBy, budgets, bucket, shouldRetry }) => [
      ...recognisedBy,
      ...budgets.flatMap(({ limit, remaining, reset = [] }) => [limit, remaining, ...reset]),
      bucket,
      shouldRetry,
    ]).filter((name) => name !== undefined),
  ),
  ...["retry-after", "retry-after-ms", "date", "ratelimit-policy"],
];

/** Values that are nearly right, and any others. */
const value = fc.oneof(
  fc.string({ maxLength: 40 }),
  fc.stringMatching(/^[0-9.,;="a-z:\- ]{0,60}$/),
  fc.integer().map(String),
  fc.double().map(String),
  fc.date({ noInvalidDate: true }).map((date) => date.toUTCString()),
  fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
  fc.constantFrom('"a";r=5;t=1', "6m0s", "32/40", "0", "", "9".repeat(400), '"'.repeat(4_000)),
);

property.prop([
  fc.integer({ min: 100, max: 599 }),
  fc.dictionary(fc.constantFrom(...HEADERS), value, { maxKeys: 12 }),
])(
  "whatever the headers are, all numbers that are read are whole, bounded and not negative",
  (status, headers) => {
    const answer = read(status, headers);
    const isBounded = (ms: number | undefined): boolean =>
      ms === undefined || (Number.isSafeInteger(ms) && ms >= 0);
    expect(isBounded(answer.waitMs)).toBe(true);
    expect(answer.waitMs !== undefined && !answer.isLimited).toBe(false);
    for (const { remaining, limit, resetMs, windowMs } of answer.budgets) {
      expect(Number.isSafeInteger(remaining) && remaining >= 0).toBe(true);
      expect(limit === undefined || (limit >= 0 && Number.isFinite(limit))).toBe(true);
      expect(isBounded(resetMs) && isBounded(windowMs)).toBe(true);
    }
    for (const name of answer.unreadable) expect(headers[name]).not.toBe("");
  },
);

property.prop([fc.string({ maxLength: 4_096 })])(
  "a RateLimit field of any text is read in no time",
  (text) => {
    const startedAt = performance.now();
    read(200, { ratelimit: text, "ratelimit-policy": text });
    read(200, { ratelimit: '"'.repeat(text.length), "ratelimit-policy": "\\".repeat(text.length) });
    expect(performance.now() - startedAt).toBeLessThan(1_000);
  },
);

property.prop([fc.oneof(fc.json(), fc.string())])(
  "no body throws, and what it says is bounded",
  (text) => {
    const { budgets, waitMs } = readBody(text, read(200, {}), 200);
    expect(budgets.every(({ remaining }) => remaining >= 0)).toBe(true);
    expect(waitMs === undefined || waitMs >= 0).toBe(true);
  },
);
