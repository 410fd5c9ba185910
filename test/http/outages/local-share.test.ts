import type { Limit } from "@headgate/core";
import { fixedWindow, gcra } from "@headgate/core";
import { expect, test } from "vitest";
import { describeAdapters } from "../support/describe-frameworks.ts";
import { useLosableRedis } from "../support/losable-redis.ts";
import { parseFields } from "../support/rate-limit-fields.ts";

describeAdapters(({ serve }) => {
  const redis = useLosableRedis();

  /** A site whose store is away. */
  async function serveWithout(limits: Limit | Limit[], localShare: number) {
    const store = await redis.openStore();
    const site = await serve({
      limits: {
        name: "api",
        limits,
        store,
        localShare,
        key: ({ headers }) => `${headers["x-user"] ?? "one"}`,
        cost: ({ headers }) => Number(headers["x-cost"] ?? 1),
      },
    });
    redis.lose();
    const costing = (cost: number, user = "one") =>
      site.sendRequest("/", { headers: { "x-cost": `${cost}`, "x-user": user } });
    /** How many of ten requests pass. */
    const admit = async (user: string): Promise<number> => {
      let admitted = 0;
      for (let i = 0; i < 10; i += 1) {
        if ((await costing(1, user)).status === 200) admitted += 1;
      }
      return admitted;
    };
    return { ...site, costing, admit };
  }

  test("the local share of half of 9 is 4, reported under the limit's usual name", async () => {
    const limits = fixedWindow({ limit: 9, window: "1d", name: "quota" });
    const { costing, admit } = await serveWithout(limits, 0.5);
    const { headers } = await costing(1, "first");
    expect(headers).toMatchObject({ "x-ratelimit-limit": "4", "x-ratelimit-remaining": "3" });
    expect(parseFields(headers["ratelimit"])).toMatchObject([{ name: "quota", r: 3 }]);
    expect(parseFields(headers["ratelimit-policy"])).toMatchObject([{ name: "quota", q: 4 }]);
    expect(await admit("second")).toBe(4);
  });

  test("the local share is at least one", async () => {
    const { admit } = await serveWithout(gcra({ limit: 3, window: "1h" }), 0.01);
    expect(await admit("one")).toBe(1);
    expect(await admit("other")).toBe(1);
  });

  test("a limit keeps its own name, and one without a name is named by its local share", async () => {
    const { costing } = await serveWithout(gcra({ limit: 8, window: "1h" }), 0.25);
    const { headers } = await costing(1);
    expect(parseFields(headers["ratelimit"])).toMatchObject([{ name: "8-per-1h", r: 1 }]);
  });

  test("each of several limits has its share, and the tightest binds", async () => {
    const limits = [
      gcra({ limit: 10, window: "1h", name: "hour" }),
      fixedWindow({ limit: 6, window: "1d", name: "day" }),
    ];
    const { costing, admit } = await serveWithout(limits, 0.5);
    const { headers } = await costing(1, "first");
    expect(parseFields(headers["ratelimit"])).toMatchObject([
      { name: "hour", r: 4 },
      { name: "day", r: 2 },
    ]);
    expect(await admit("second")).toBe(3);
  });

  test("a cost above the local share but within the limit takes all of it, and a cost above the limit is denied", async () => {
    const { costing } = await serveWithout(gcra({ limit: 10, window: "1h" }), 0.5);
    const whole = await costing(8);
    expect(whole.status).toBe(200);
    expect(whole.json()).toMatchObject({ cost: 8, remaining: 0, limit: 5 });
    expect((await costing(1)).status).toBe(429);
    // Not even to somebody whose share is whole.
    const never = await costing(11, "other");
    expect(never.status).toBe(429);
    expect(never.headers).not.toHaveProperty("retry-after");
    expect((await costing(5, "other")).status).toBe(200);
    // Where some of the share is used, a cost as large as all of it waits.
    expect((await costing(1, "third")).status).toBe(200);
    const waits = await costing(8, "third");
    expect(waits.status).toBe(429);
    expect(Number(waits.headers["retry-after"])).toBeGreaterThan(0);
  });
});
