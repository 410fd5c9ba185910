import type { Decision, Limiter } from "@headgate/core";
import { CHANNELS, createLimiter, fixedWindow, slidingLog } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { describe, expect, test } from "vitest";
import { holdStore, started } from "../../support/held-store.ts";
import { deferred } from "../support/deferred.ts";
import { describeAdapters } from "../support/describe-frameworks.ts";
import { eventually } from "../support/eventually.ts";
import type { AnyRequest } from "../support/framework.ts";
import { useLosableRedis } from "../support/losable-redis.ts";
import { nextMessage } from "../support/next-message.ts";
import { uniquePrefix, useRedis } from "../support/redis-client.ts";
import { watchUnhandled } from "../support/unhandled.ts";
import { countUsage, failure, useStores } from "./stores.ts";

const places = useStores();
const redis = useRedis();
const losable = useLosableRedis();
const hourly = slidingLog({ limit: 20, window: "1h", name: "hourly" });

const decisionOf = (request: AnyRequest) => request.rateLimit as Decision;

describeAdapters(({ serve }) => {
  describe.each(places)(
    "with counts in $name, a charge that the handler settles is not settled again",
    ({ count }) => {
      test.each<[string, (limiter: Limiter, decision: Decision) => Promise<unknown>, number]>([
        ["settle", (limiter, decision) => limiter.settle(decision, 4), 4],
        ["settle to what it was", (limiter, decision) => limiter.settle(decision, 2), 2],
        ["refund", (limiter, decision) => limiter.refund(decision), 0],
      ])("%s", async (_, act, expected) => {
        for (const say of [false, true, 9]) {
          const { limiter, used } = count(20);
          const { sendRequest } = await serve({
            limits: { limiter, cost: 2, count: () => say },
            routes: { "/": { handle: (request) => act(limiter, decisionOf(request)) } },
          });
          expect((await sendRequest()).status).toBe(200);
          expect(await used()).toBe(expected);
        }
      });
    },
  );

  test("a settle still in progress when the response ends is the only one", async () => {
    const { store, held } = holdStore(() => 0);
    const limiter = createLimiter({ name: "api", limits: hourly, store, storeTimeout: "1m" });
    let settled: Promise<unknown> | undefined;
    const starting = serve({
      limits: { limiter, count: () => 0 },
      routes: {
        "/": {
          handle(request) {
            settled = limiter.settle(decisionOf(request), 7);
            return "answered";
          },
        },
      },
    });
    const { sendRequest } = await started(held, starting);
    const asked = sendRequest();
    await eventually(() => expect(held).toHaveLength(1));
    await held.shift()?.carryOut();
    await asked;
    const looked = countUsage(limiter).used();
    await eventually(() => expect(held).toHaveLength(2));
    for (const call of held.splice(0)) await call.carryOut();
    expect(await settled).toMatchObject({ charged: 7 });
    expect(await looked).toBe(7);
  });

  test("a limiter closed before the response ends leaves the charge, and causes no error", async () => {
    const expectNothingUnhandled = watchUnhandled();
    const limiter = createLimiter({ limits: hourly });
    const { sendRequest, errors, warnings } = await serve({
      limits: { limiter, count: "failed" },
      routes: { "/": { handle: () => limiter.close() } },
    });
    expect((await sendRequest()).status).toBe(200);
    await expectNothingUnhandled();
    expect([errors, warnings]).toEqual([[], []]);
  });

  test("a charge paid from a lease is settled in the store", async () => {
    const prefix = uniquePrefix();
    const limits = fixedWindow({ limit: 1_000, window: "1h" });
    const store = redisStore(redis, { prefix });
    const limiter = createLimiter({
      name: "leased",
      limits,
      store,
      storeTimeout: "1m",
      lease: { max: 50, ttl: "10s" },
    });
    const other = createLimiter({
      name: "leased",
      limits,
      store: redisStore(redis, { prefix }),
      storeTimeout: "1m",
    });
    const sources = new Set<string>();
    const { sendRequest } = await serve({
      limits: { limiter, count: "failed" },
      routes: {
        "/": {
          handle(request) {
            sources.add(decisionOf(request).source);
          },
        },
        "/wrong": {
          handle(request) {
            sources.add(decisionOf(request).source);
            throw failure(401);
          },
        },
      },
    });
    for (let i = 0; i < 30; i += 1) await sendRequest(i % 3 === 0 ? "/wrong" : "/");
    expect(sources).toContain("lease");
    await limiter.close();
    // What was held is given back at the end.
    expect(await countUsage(other).used()).toBe(10);
  });

  test("while Redis is unavailable a request stays charged, and no error occurs", async () => {
    const expectNothingUnhandled = watchUnhandled();
    const limiter = createLimiter({
      name: "api",
      limits: hourly,
      store: await losable.openStore(),
      storeTimeout: "500ms",
    });
    const letGo = deferred();
    const site = await serve({
      limits: { limiter, count: "failed" },
      routes: { "/": {}, "/slow": { handle: () => letGo.promise } },
    });
    const asked = site.sendRequest("/slow");
    await eventually(() => expect(site.handled).toHaveLength(1));
    const down = nextMessage(CHANNELS.storeDown);
    losable.lose();
    expect((await site.sendRequest()).json()).toMatchObject({ source: "local" });
    await down;
    letGo.resolve();
    expect((await asked).status).toBe(200);
    const looked = await limiter.peek("127.0.0.1", { cost: 0 });
    // What was decided without Redis was settled here.
    expect(looked).toMatchObject({ source: "local", remaining: 20 });
    await losable.restore();
    await expectNothingUnhandled();
    const { used } = countUsage(limiter);
    await eventually(async () => {
      expect((await limiter.peek("127.0.0.1")).source).toBe("store");
    });
    // The request that made the outage known may have reached Redis all the same.
    expect([1, 2]).toContain(await used());
    expect(site.errors).toEqual([]);
  });
});
