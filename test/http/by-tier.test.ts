import { gcra, memoryStore } from "@headgate/core";
import { byHeader, byTier } from "@headgate/core/http";
import { expect, test } from "vitest";
import { describeAdapters } from "./support/describe-frameworks.ts";
import type { AnyRequest, SharedOptions } from "./support/framework.ts";

const tiers = {
  free: gcra({ limit: 2, window: "1h" }),
  premium: [gcra({ limit: 4, window: "1h" }), gcra({ limit: 100, window: "1d" })],
};

const planOf = ({ headers }: AnyRequest) => headers["x-plan"] as never;

const as = (user: string, plan: string) => ({ headers: { "x-user": user, "x-plan": plan } });

describeAdapters(({ serve }) => {
  const serving = (select: (request: AnyRequest) => unknown, more: Partial<SharedOptions> = {}) =>
    serve({
      limits: { limits: byTier(tiers, select as never), key: byHeader("x-user"), ...more },
    });

  test.each([
    { kind: "a function", select: planOf },
    { kind: "an async function", select: async (request: AnyRequest) => planOf(request) },
  ])("each tier has its own limits, selected by $kind", async ({ select }) => {
    const { sendRequest } = await serving(select);
    const statuses = { free: [] as number[], premium: [] as number[] };
    for (let i = 0; i < 5; i++) {
      statuses.free.push((await sendRequest("/", as("ann", "free"))).status);
      statuses.premium.push((await sendRequest("/", as("bob", "premium"))).status);
    }
    expect(statuses.free).toEqual([200, 200, 429, 429, 429]);
    expect(statuses.premium).toEqual([200, 200, 200, 200, 429]);
  });

  test("tiers are counted separately, so a client that upgrades starts with the full limit", async () => {
    const { sendRequest } = await serving(planOf);
    await sendRequest("/", as("ann", "free"));
    await sendRequest("/", as("ann", "free"));
    const upgraded = await sendRequest("/", as("ann", "premium"));
    expect(upgraded.headers["x-ratelimit-limit"]).toBe("4");
    expect(upgraded.headers["x-ratelimit-remaining"]).toBe("3");
    expect((await sendRequest("/", as("ann", "free"))).status).toBe(429);
  });

  test("tiers with equal limits are counted separately, too", async () => {
    const equal = { a: gcra({ limit: 1, window: "1h" }), b: gcra({ limit: 1, window: "1h" }) };
    const store = memoryStore();
    const { sendRequest } = await serve({
      limits: { name: "api", store, limits: byTier(equal, planOf), key: byHeader("x-user") },
    });
    expect((await sendRequest("/", as("ann", "a"))).status).toBe(200);
    expect((await sendRequest("/", as("ann", "b"))).status).toBe(200);
    expect((await sendRequest("/", as("ann", "a"))).status).toBe(429);
  });

  test.each(["gold", "", "toString", "__proto__", "constructor", undefined, null, 0, ["free"]])(
    "the tier %j is an error, so that the request is not unlimited",
    async (tier) => {
      const site = await serving(() => tier);
      expect((await site.sendRequest("/", as("ann", ""))).status).toBe(500);
      expect(site.errors).toMatchObject([
        { code: "HEADGATE_UNKNOWN_TIER", cause: { tier, tiers: ["free", "premium"] } },
      ]);
      expect(site.errors[0]?.message).not.toMatch(/gold|free|premium/);
      expect(site.handled).toEqual([]);
    },
  );

  test("a request of a tier without limits passes without headers, and reads no key", async () => {
    const site = await serve({
      limits: {
        limits: byTier({ ...tiers, internal: null }, planOf),
        key: byHeader("x-user"),
        missingKey: "reject",
      },
    });
    for (let i = 0; i < 5; i += 1) {
      const response = await site.sendRequest("/", { headers: { "x-plan": "internal" } });
      expect(response.status).toBe(200);
      expect(Object.keys(response.headers).filter((name) => name.includes("ratelimit"))).toEqual(
        [],
      );
      expect(response.json()).toBeNull();
    }
    expect((await site.sendRequest("/", as("ann", "free"))).headers["x-ratelimit-remaining"]).toBe(
      "1",
    );
    expect((await site.sendRequest("/", as("ann", "inner"))).status).toBe(500);
    expect(site.errors).toMatchObject([
      { code: "HEADGATE_UNKNOWN_TIER", cause: { tiers: ["free", "premium", "internal"] } },
    ]);
  });

  test("byTier needs limits for at least one tier, and rejects undefined", async () => {
    expect(() => byTier({ internal: null }, () => "internal")).toThrow(
      expect.objectContaining({ code: "HEADGATE_INVALID_OPTION" }),
    );
    const limits = byTier({ free: tiers.free, gone: undefined as never }, planOf);
    await expect(serve({ limits: { limits } })).rejects.toMatchObject({
      code: "HEADGATE_INVALID_LIMIT",
    });
  });

  test("a function that throws instead of returning the tier passes its error to the error handler", async () => {
    const site = await serving(async () => {
      throw new Error("no billing");
    });
    expect((await site.sendRequest()).status).toBe(500);
    expect(site.errors).toMatchObject([{ message: "no billing" }]);
    expect(site.handled).toEqual([]);
  });

  test("every tier is validated at construction", async () => {
    const bad = { free: tiers.free, premium: gcra({ limit: -1, window: "1h" }) };
    await expect(serve({ limits: { limits: byTier(bad, planOf) } })).rejects.toMatchObject({
      code: "HEADGATE_INVALID_LIMIT",
    });
    const keyless = { free: gcra({ limit: 1, window: "1h", per: "tenant" }) };
    await expect(serve({ limits: { limits: byTier(keyless, planOf) } })).rejects.toMatchObject({
      code: "HEADGATE_INVALID_OPTION",
    });
    expect(() => byTier({}, planOf)).toThrow(/tiers/);
    expect(() => byTier(tiers, "free" as never)).toThrow(/function/);
  });
});
