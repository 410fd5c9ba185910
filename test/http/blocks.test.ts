import { createLimiter, fixedWindow, gcra, memoryStore } from "@headgate/core";
import { subjectOfAddress } from "@headgate/core/http";
import { redisStore } from "@headgate/core/redis";
import { byIp, byTier, combineKeys, perRequest } from "@headgate/express";
import { describe, expect, test, vi } from "vitest";
import { describeAdapters } from "./support/describe-frameworks.ts";
import { manualClock } from "./support/manual-clock.ts";
import { recordDecisions } from "./support/record-decisions.ts";
import { uniquePrefix, useRedis } from "./support/redis-client.ts";

const redis = useRedis();
const guarded = fixedWindow({ limit: 2, window: "1d", block: ["1m", "1h"], name: "tries" });

/** Without a deny cache, whose second does not follow the clock of a test. */
const options = { name: "login", storeTimeout: "1m", denyCache: false } as const;

describeAdapters(({ serve }) => {
  test("block cannot be used with wait", async () => {
    const refused = {
      code: "HEADGATE_INVALID_OPTION",
      message: expect.stringMatching(
        /: wait cannot be used with limits that have a block, .*"tries"/,
      ),
    };
    const store = memoryStore();
    const base = createLimiter({ name: "base", limits: guarded, store });
    const limits = gcra({ limit: 9, window: "1m" });
    for (const options of [
      { limits: guarded },
      { limits: [limits, guarded] },
      { limits: byTier({ paid: limits, free: guarded }, () => "free") as never },
      { limits: perRequest(guarded, () => null) as never },
      { limiter: base },
      { limiter: createLimiter({ name: "more", limits, store, extends: base }) },
    ]) {
      await expect(serve({ limits: { ...options, wait: "2s" } })).rejects.toMatchObject(refused);
    }
    await serve({ limits: { limits: guarded, wait: false } });
  });

  describe.each(["memory", "Redis"])("with counts in %s", (place) => {
    const storeOn = (clock: () => number) =>
      place === "Redis"
        ? redisStore(redis, { prefix: uniquePrefix(), clock })
        : memoryStore({ clock });

    test("a denial blocks the client, reports for how long, and blocks longer the next time", async () => {
      const clock = manualClock();
      const heard = recordDecisions();
      const { sendRequest } = await serve({
        limits: { ...options, limits: guarded, store: storeOn(clock.now) },
      });
      for (const [span, header] of [
        [60_000, "60"],
        [3_600_000, "3600"],
        [3_600_000, "3600"],
      ] as const) {
        for (let i = 0; i < 2; i += 1) {
          const { status, json } = await sendRequest();
          expect(status).toBe(200);
          expect(json()).toMatchObject({ blocked: false });
        }
        const denied = await sendRequest();
        expect(denied.status).toBe(429);
        expect(denied.headers).toMatchObject({
          "retry-after": header,
          "x-ratelimit-limit": "2",
          "x-ratelimit-remaining": "0",
          "x-ratelimit-reset": header,
          "ratelimit-policy": '"tries";q=2;w=86400',
          ratelimit: `"tries";r=0;t=${header}`,
          "cache-control": "no-store",
        });
        expect(denied.json()).toMatchObject({ status: 429, "violated-policies": ["tries"] });
        expect(heard.at(-1)).toMatchObject({ decision: { allowed: false, blocked: true } });
        clock.advance(span - 1);
        expect((await sendRequest()).headers).toMatchObject({ "retry-after": "1" });
        clock.advance(1);
      }
    });

    test("a blocked pair of address and account blocks neither the address nor the account alone", async () => {
      const clock = manualClock();
      const key = combineKeys(byIp(), (request: { readonly headers: unknown }) => {
        return (request.headers as Record<string, string>)["x-account"];
      });
      const { sendRequest } = await serve({
        limits: { ...options, limits: guarded, store: storeOn(clock.now), key: key as never },
      });
      const statusOf = async (account: string) =>
        (await sendRequest("/", { headers: { "x-account": account } })).status;
      const statuses = [];
      for (const account of ["ada", "ada", "ada", "grace"]) statuses.push(await statusOf(account));
      expect(statuses).toEqual([200, 200, 429, 200]);
    });

    test("each tier has its own blocks, and limits of another tier do not end a block", async () => {
      const clock = manualClock();
      let plan: "free" | "paid" = "free";
      const free = { ...guarded, limit: 1 };
      const { sendRequest } = await serve({
        routes: {
          "/tier": {
            limits: {
              ...options,
              limits: byTier({ free, paid: guarded }, () => plan) as never,
              store: storeOn(clock.now),
            },
          },
          "/request": {
            limits: {
              ...options,
              name: "per request",
              limits: perRequest(free, () => (plan === "free" ? free : guarded)) as never,
              store: storeOn(clock.now),
            },
          },
        },
      });
      const statuses = async (path: string) => {
        const seen: number[] = [];
        for (const next of ["free", "free", "paid"] as const) {
          plan = next;
          seen.push((await sendRequest(path)).status);
        }
        return seen;
      };
      expect(await statuses("/tier")).toEqual([200, 429, 200]);
      expect(await statuses("/request")).toEqual([200, 429, 429]);
    });

    test("a manual block is answered as a denial by all limits, and calls onDenied", async () => {
      const clock = manualClock();
      const limiter = createLimiter({
        ...options,
        limits: [gcra({ limit: 9, window: "1m", name: "calm" }), guarded],
        store: storeOn(clock.now),
      });
      const onDenied = vi.fn();
      const { sendRequest } = await serve({ limits: { limiter, onDenied } });
      expect((await sendRequest()).status).toBe(200);
      await limiter.block(subjectOfAddress("127.0.0.1"), "2h");
      const denied = await sendRequest();
      expect([denied.status, denied.headers["retry-after"]]).toEqual([429, "7200"]);
      expect(denied.json()).toMatchObject({ "violated-policies": ["calm", "tries"] });
      expect(onDenied).toHaveBeenCalledOnce();
      expect(onDenied.mock.calls[0]?.[2]).toMatchObject({ blocked: true });
      expect(await limiter.unblock(subjectOfAddress("127.0.0.1"))).toBe(true);
      expect((await sendRequest()).status).toBe(200);
      await limiter.close();
    });

    test("shadow mode blocks no client", async () => {
      const clock = manualClock();
      const heard = recordDecisions();
      const { sendRequest } = await serve({
        limits: { ...options, limits: guarded, store: storeOn(clock.now), shadow: true },
      });
      for (let i = 0; i < 4; i += 1) expect((await sendRequest()).status).toBe(200);
      expect(heard.map(({ decision }) => [decision.wouldAllow, decision.blocked])).toEqual([
        [true, false],
        [true, false],
        [false, false],
        [false, false],
      ]);
    });
  });
});
