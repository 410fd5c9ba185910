import { createLimiter, fixedWindow, gcra } from "@headgate/core";
import { describe, expect, test, vi } from "vitest";
import { describeAdapters } from "../support/describe-frameworks.ts";
import { eventually } from "../support/eventually.ts";
import type { AnyReply, AnyRequest, Route, SharedOptions } from "../support/framework.ts";
import { watchUnhandled } from "../support/unhandled.ts";
import { failure, useStores } from "./stores.ts";

const places = useStores();

function fail(status: number): Route {
  return {
    handle() {
      throw failure(status);
    },
  };
}

const routes = {
  "/": {},
  "/wrong": fail(401),
  "/broken": fail(503),
};

const FAILED = ["/wrong", "/broken", "/nowhere"];
const SUCCEEDED = ["/"];

describeAdapters(({ serve }) => {
  describe.each(places)("with counts in $name", ({ count: counting }) => {
    async function start(limit: number, options: Partial<SharedOptions>) {
      const { limiter, used } = counting(limit);
      // What settles has to be known to the server: else it is sent again, behind what looks at it.
      await limiter.settle(await limiter.consume("nobody"), 0);
      await limiter.charge("nobody");
      const site = await serve({ limits: { limiter, ...options }, routes });
      return { ...site, limiter, used };
    }

    test.each([
      ["all", [...FAILED, ...SUCCEEDED]],
      ["failed", FAILED],
      ["succeeded", SUCCEEDED],
    ] as const)("count: %s charges the responses %j", async (count, counted) => {
      const { sendRequest, used } = await start(50, { count });
      for (const method of ["GET", "HEAD"] as const) {
        for (const path of [...FAILED, ...SUCCEEDED]) {
          const before = await used();
          await sendRequest(path, { method });
          const isCounted = (counted as readonly string[]).includes(path);
          expect([method, path, (await used()) - before]).toEqual([
            method,
            path,
            isCounted ? 1 : 0,
          ]);
        }
      }
    });

    test("requests that count are denied once the limit is used up, and requests that do not count never are", async () => {
      const { sendRequest } = await start(3, { count: "failed" });
      for (let i = 0; i < 9; i += 1) expect((await sendRequest("/")).status).toBe(200);
      for (let i = 0; i < 3; i += 1) expect((await sendRequest("/wrong")).status).toBe(401);
      expect((await sendRequest("/")).status).toBe(429);
    });

    test("a count function gets the request and response, and returns the cost", async () => {
      const seen: unknown[] = [];
      const results: Record<string, boolean | number> = { "/": 0, "/wrong": 7, "/broken": true };
      const { sendRequest, used } = await start(50, {
        cost: 3,
        count(request: AnyRequest, reply: AnyReply) {
          seen.push([request.url, reply.statusCode]);
          return results[request.url] ?? false;
        },
      });
      const costs: number[] = [];
      for (const path of ["/", "/wrong", "/broken", "/nowhere"]) {
        const before = await used();
        await sendRequest(path);
        costs.push((await used()) - before);
      }
      expect(seen).toEqual([
        ["/", 200],
        ["/wrong", 401],
        ["/broken", 503],
        ["/nowhere", 404],
      ]);
      expect(costs).toEqual([0, 7, 3, 0]);
    });

    test("an asynchronous count function leaves the request charged until it resolves", async () => {
      let answer = (_: boolean): void => {};
      const { sendRequest, used } = await start(5, {
        count: () =>
          new Promise<boolean>((resolve) => {
            answer = resolve;
          }),
      });
      await sendRequest();
      expect(await used()).toBe(1);
      answer(false);
      expect(await used()).toBe(0);
    });

    test("a settled cost above the limit is charged in full", async () => {
      const { sendRequest, used } = await start(5, { count: () => 12 });
      await sendRequest();
      expect(await used()).toBe(12);
      expect((await sendRequest()).status).toBe(429);
      expect(await used()).toBe(12);
    });

    test("two hundred failing requests at once get no more responses than the limit", async () => {
      let arrived = 0;
      const { limiter, used } = counting(5);
      const site = await serve({
        limits: { limiter, count: "failed" },
        routes: {
          "/": {
            handle() {
              arrived += 1;
              throw failure(401);
            },
          },
        },
      });
      const answers = await Promise.all(Array.from({ length: 200 }, () => site.sendRequest()));
      expect(answers.filter(({ status }) => status === 401)).toHaveLength(5);
      expect(answers.filter(({ status }) => status === 429)).toHaveLength(195);
      expect(arrived).toBe(5);
      expect(await used()).toBe(5);
    });

    test("requests in flight stay charged until they end", async () => {
      const { limiter, used } = counting(5);
      let letGo = (): void => {};
      const held = new Promise<void>((resolve) => {
        letGo = resolve;
      });
      const site = await serve({
        limits: { limiter, count: "failed" },
        routes: { "/": { handle: () => held } },
      });
      const asked = Array.from({ length: 5 }, () => site.sendRequest());
      await eventually(() => expect(site.handled).toHaveLength(5));
      expect((await site.sendRequest()).status).toBe(429);
      letGo();
      await Promise.all(asked);
      expect(await used()).toBe(0);
    });
  });

  test("count settles charges in shadow mode, too", async () => {
    const limiter = createLimiter({
      limits: fixedWindow({ limit: 2, window: "1h" }),
      shadow: true,
    });
    const { sendRequest } = await serve({ limits: { limiter, count: "failed" }, routes });
    const left = async () => (await limiter.peek("127.0.0.1", { cost: 0 })).remaining;
    await sendRequest("/");
    expect(await left()).toBe(2);
    for (let i = 0; i < 3; i += 1) expect((await sendRequest("/wrong")).status).toBe(401);
    expect(await left()).toBe(0);
  });

  describe("a denied request with count", () => {
    const limits = gcra({ limit: 1, window: "1h" });

    test("a denied request costs nothing, and count is not called", async () => {
      const count = vi.fn(() => 5);
      const limiter = createLimiter({ limits });
      await limiter.consume("127.0.0.1");
      for (const onDenied of [
        undefined,
        "error" as const,
        (_: AnyRequest, send: (status: number, body: string) => void) => send(200, "in our way"),
        () => "allow",
      ]) {
        const { sendRequest } = await serve({ limits: { limiter, count, onDenied } });
        await sendRequest();
      }
      expect(count).not.toHaveBeenCalled();
      expect(await limiter.reset("127.0.0.1")).toBe(true);
      expect((await limiter.consume("127.0.0.1")).allowed).toBe(true);
    });

    test("a request denied by a later limiter counts as failed", async () => {
      const first = createLimiter({ limits: fixedWindow({ limit: 9, window: "1h" }) });
      const denying = createLimiter({ limits });
      await denying.consume("127.0.0.1");
      const { sendRequest } = await serve({
        limits: [{ limiter: first, count: "failed" }, { limiter: denying }],
      });
      expect((await sendRequest()).status).toBe(429);
      expect((await first.peek("127.0.0.1", { cost: 0 })).remaining).toBe(8);
    });
  });

  describe("a request without a decision, with count", () => {
    test("a skipped request and a request without a key have nothing to settle", async () => {
      const expectNothingUnhandled = watchUnhandled();
      const count = vi.fn(() => false);
      const limits = gcra({ limit: 1, window: "1h" });
      const { sendRequest } = await serve({
        limits: [
          { limits, count, skip: () => true },
          { limits, count, key: () => undefined, missingKey: "skip" },
        ],
      });
      for (let i = 0; i < 3; i += 1) expect((await sendRequest()).status).toBe(200);
      expect(count).not.toHaveBeenCalled();
      await expectNothingUnhandled();
    });

    test("a request whose key function fails gets the error as usual", async () => {
      const expectNothingUnhandled = watchUnhandled();
      const { sendRequest, errors } = await serve({
        limits: {
          limits: gcra({ limit: 1, window: "1h" }),
          count: "failed",
          key: async () => {
            throw new TypeError("a bug");
          },
        },
      });
      for (let i = 0; i < 3; i += 1) expect((await sendRequest()).status).toBe(500);
      expect(errors).toHaveLength(3);
      await expectNothingUnhandled();
    });
  });
});
