import { gcra } from "@headgate/core";
import { expect, test } from "vitest";
import { describeAdapters } from "./support/describe-frameworks.ts";
import type { AnyRequest, RunningSite, SharedOptions } from "./support/framework.ts";

const limits = gcra({ limit: 10, window: "1h" });

const left = async (
  { sendRequest }: RunningSite,
  path?: string,
  headers?: Record<string, string>,
) => (await sendRequest(path, { headers: headers ?? {} })).headers["x-ratelimit-remaining"];

const costHeader = ({ headers }: AnyRequest) => Number(headers["x-cost"] ?? 1);

describeAdapters(({ serve }) => {
  const serving = (options: Partial<SharedOptions>) => serve({ limits: { limits, ...options } });

  test("a request costs one unit, or the configured number of units", async () => {
    expect(await left(await serving({}))).toBe("9");
    expect(await left(await serving({ cost: 4 }))).toBe("6");
  });

  test.each([
    { kind: "a function", cost: costHeader },
    { kind: "an async function", cost: async (request: AnyRequest) => costHeader(request) },
  ])("the cost of a request may be $kind", async ({ cost }) => {
    const site = await serving({ cost });
    expect(await left(site, "/", { "x-cost": "3" })).toBe("7");
    expect(await left(site)).toBe("6");
    const denied = await site.sendRequest("/", { headers: { "x-cost": "7" } });
    expect(denied.status).toBe(429);
    expect(denied.headers["x-ratelimit-remaining"]).toBe("6");
    expect(await left(site, "/", { "x-cost": "6" })).toBe("0");
  });

  test.each([Number.NaN, undefined, null, -1, 1.5, 2 ** 53, Number.POSITIVE_INFINITY, "3", 10n])(
    "the cost %s is an error, so that the request is not unlimited",
    async (cost) => {
      const site = await serving({ cost: () => cost as never });
      expect((await site.sendRequest()).status).toBe(500);
      expect(site.errors).toMatchObject([{ code: "HEADGATE_INVALID_COST" }]);
      expect(site.handled).toEqual([]);
    },
  );

  test.each([0, () => 0, async () => 0])("a cost of 0, %s, charges nothing", async (cost) => {
    const site = await serving({ cost });
    expect([await left(site), await left(site)]).toEqual(["10", "10"]);
  });

  test("a cost function that throws or rejects passes its error to the error handler", async () => {
    for (const cost of [failing, async () => failing()]) {
      const site = await serving({ cost });
      expect((await site.sendRequest()).status).toBe(500);
      expect(site.errors).toMatchObject([{ message: "no idea" }]);
      expect(site.handled).toEqual([]);
    }
  });

  test.each([Number.NaN, -1, 0.5, "2", null, 2 ** 53])(
    "the option cost rejects %s",
    async (cost) => {
      await expect(serving({ cost: cost as never })).rejects.toMatchObject({
        code: "HEADGATE_INVALID_OPTION",
      });
    },
  );

  test.each([
    { kind: "a function", skip: isHealth },
    { kind: "an async function", skip: async (request: AnyRequest) => isHealth(request) },
  ])(
    "skip, $kind, lets a request pass without counting it and without headers",
    async ({ skip }) => {
      const site = await serving({ skip });
      const health = await site.sendRequest("/?health");
      expect(health.status).toBe(200);
      expect(Object.keys(health.headers).filter((name) => name.includes("ratelimit"))).toEqual([]);
      expect(health.json()).toBeNull();
      expect(await left(site)).toBe("9");
    },
  );

  test("a skipped request reads neither key nor cost", async () => {
    const site = await serving({ skip: () => true, key: failing, cost: failing });
    expect((await site.sendRequest()).status).toBe(200);
  });

  test.each(["yes", 1, 0, "", null, {}, { admin: "yes" }])(
    "skip returning %s is an error, so that the request is not unlimited",
    async (returned) => {
      const site = await serving({ skip: () => returned as never });
      expect((await site.sendRequest()).status).toBe(500);
      expect(site.errors).toMatchObject([{ code: "HEADGATE_INVALID_OPTION" }]);
      expect(site.errors[0]?.message).not.toContain("yes");
      expect(site.handled).toEqual([]);
    },
  );

  test("a skip function that throws or rejects passes its error to the error handler", async () => {
    for (const skip of [failing, async () => failing()]) {
      const site = await serving({ skip });
      expect((await site.sendRequest()).status).toBe(500);
      expect(site.handled).toEqual([]);
    }
  });
});

function isHealth({ url }: AnyRequest): boolean {
  return url.includes("health");
}

function failing(): never {
  throw new Error("no idea");
}
