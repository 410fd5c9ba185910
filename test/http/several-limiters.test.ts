import { createLimiter, gcra } from "@headgate/core";
import { expect, test } from "vitest";
import { describeAdapters } from "./support/describe-frameworks.ts";
import { parseFields } from "./support/rate-limit-fields.ts";
import { secondsLeft } from "./support/seconds-left.ts";

const site = gcra({ limit: 10, window: "1h", name: "site" });
const login = gcra({ limit: 2, window: "1h", name: "login" });

describeAdapters(({ serve }) => {
  test("every limiter is called, and the headers list the limits of all", async () => {
    const { sendRequest } = await serve({
      limits: { limits: [site, gcra({ limit: 100, window: "1d", name: "daily" })] },
      routes: { "/login": { limits: { limits: login } } },
    });
    const { headers } = await sendRequest("/login");
    expect(parseFields(headers["ratelimit"])).toMatchObject([
      { name: "site", r: 9 },
      { name: "daily", r: 99 },
      { name: "login", r: 1 },
    ]);
    expect(parseFields(headers["ratelimit-policy"])).toEqual([
      { name: "site", q: 10, w: 3_600 },
      { name: "daily", q: 100, w: 86_400 },
      { name: "login", q: 2, w: 3_600 },
    ]);
  });

  test.each([
    { order: "tight first", first: login, second: site },
    { order: "tight last", first: site, second: login },
  ])(
    "the decision and X-RateLimit-* are those of the binding limiter, $order",
    async ({ first, second }) => {
      const { sendRequest } = await serve({ limits: [{ limits: first }, { limits: second }] });
      const { headers, json } = await sendRequest();
      expect(json()).toMatchObject({ limit: 2, remaining: 1 });
      expect(headers).toMatchObject({ "x-ratelimit-limit": "2", "x-ratelimit-remaining": "1" });
    },
  );

  test("the decision is null or missing if no limiter was called", async () => {
    const { sendRequest } = await serve();
    expect((await sendRequest()).json()).toBeNull();
  });

  test("earlier limiters stay charged if a later one denies", async () => {
    const { sendRequest } = await serve({
      limits: { limits: site },
      routes: { "/": {}, "/login": { limits: { limits: login } } },
    });
    for (let i = 0; i < 4; i++) await sendRequest("/login");
    const { headers } = await sendRequest("/");
    expect(headers["x-ratelimit-remaining"]).toBe("5");
  });

  test("later limiters are not called if an earlier one denies", async () => {
    const later = createLimiter({ limits: site });
    const { sendRequest } = await serve({
      limits: [{ limits: login }, { limiter: later, key: () => "all" }],
    });
    for (let i = 0; i < 5; i++) await sendRequest();
    expect(await later.peek("all")).toMatchObject({ remaining: 10 - 2 - 1 });
  });

  test("a denial shows the numbers of the limiter that denied, even if another has less remaining", async () => {
    const { sendRequest } = await serve({
      limits: { limits: gcra({ limit: 3, window: "1d", name: "daily" }) },
      routes: { "/login": { limits: { limits: login } } },
    });
    await sendRequest("/login");
    await sendRequest("/login");
    const denied = await sendRequest("/login");
    expect(denied.status).toBe(429);
    expect(denied.headers).toMatchObject({
      "x-ratelimit-limit": "2",
      "x-ratelimit-remaining": "0",
      "retry-after": secondsLeft(1_800),
    });
    expect(denied.json()).toMatchObject({ "violated-policies": ["login"] });
    expect(parseFields(denied.headers["ratelimit"])).toMatchObject([
      { name: "daily", r: 0 },
      { name: "login", r: 0 },
    ]);
  });

  test("a limiter counts a request once, however often it is mounted", async () => {
    const limiter = createLimiter({ limits: site });
    const { sendRequest } = await serve({
      limits: [{ limiter }, { limiter }],
      routes: { "/": { limits: { limiter } } },
    });
    const { headers } = await sendRequest();
    expect(headers["x-ratelimit-remaining"]).toBe("9");
    expect(parseFields(headers["ratelimit"])).toHaveLength(1);
    expect((await sendRequest()).headers["x-ratelimit-remaining"]).toBe("8");
  });

  test("limiters on different stores can decide one request", async () => {
    const { sendRequest } = await serve({ limits: [{ limits: site }, { limits: site }] });
    expect(parseFields((await sendRequest()).headers["ratelimit"])).toHaveLength(2);
  });

  test("a limiter that skips does not hide the decision of another", async () => {
    const { sendRequest } = await serve({
      limits: [{ limits: site }, { limits: login, skip: () => true }],
    });
    const response = await sendRequest();
    expect(response.headers["x-ratelimit-remaining"]).toBe("9");
    expect(response.json()).toMatchObject({ limit: 10, remaining: 9 });
  });

  test.each([
    { order: "first", limits: [{ limits: login, headers: false }, { limits: site }] },
    { order: "last", limits: [{ limits: site }, { limits: login, headers: false }] },
  ])(
    "a binding limiter with headers: false, $order, is not reported, and the other's numbers are",
    async ({ limits }) => {
      const { headers, json } = await (await serve({ limits })).sendRequest();
      expect(headers).toMatchObject({ "x-ratelimit-limit": "10", "x-ratelimit-remaining": "9" });
      expect(parseFields(headers["ratelimit"])).toMatchObject([{ name: "site", r: 9 }]);
      expect(parseFields(headers["ratelimit-policy"])).toMatchObject([{ name: "site", q: 10 }]);
      expect(json()).toMatchObject({ limit: 2, remaining: 1 });
    },
  );

  test("a denial with headers: false removes headers of another limiter that show remaining units", async () => {
    const { sendRequest } = await serve({
      limits: [{ limits: site }, { limits: login, headers: false }],
    });
    await sendRequest();
    await sendRequest();
    const { status, headers } = await sendRequest();
    expect(status).toBe(429);
    expect(Object.keys(headers).filter((name) => name.startsWith("x-ratelimit"))).toEqual([]);
    expect(parseFields(headers["ratelimit"])).toMatchObject([{ name: "site", r: 7 }]);
    expect(headers["retry-after"]).toEqual(secondsLeft(1_800));
  });

  test("each limiter sends the headers that its option selects", async () => {
    const { sendRequest } = await serve({
      limits: [
        { limits: site, headers: { legacy: false } },
        { limits: login, headers: { standard: false } },
      ],
    });
    const { headers } = await sendRequest();
    expect(headers).toMatchObject({ "x-ratelimit-limit": "2", "x-ratelimit-remaining": "1" });
    expect(parseFields(headers["ratelimit"])).toMatchObject([{ name: "site", r: 9 }]);
  });
});
