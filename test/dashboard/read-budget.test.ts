import { describe, expect, test } from "vitest";
import { visibleTo } from "../../packages/dashboard/src/access/visible-to.ts";
import { parsePermission } from "../../packages/dashboard/src/access/visitor.ts";
import { createDashboard } from "../../packages/dashboard/src/dashboard.ts";
import type { EndpointContext } from "../../packages/dashboard/src/endpoints.ts";
import { READ_ENDPOINTS, WRITE_ENDPOINTS } from "../../packages/dashboard/src/endpoints.ts";
import { useOwnRedis } from "../support/own-redis.ts";
import { seedDenied } from "./support/seed-denied.ts";
import { api } from "./support/send-request.ts";

const own = useOwnRedis();

const TOO_MANY = expect.objectContaining({ status: 429, code: "TOO_MANY_READS" });

test("a visitor who exceeds the read budget gets 429, and other visitors do not", async () => {
  const authorize = ({ headers }: { headers: { cookie?: string | undefined } }) => {
    const { cookie } = headers;
    return cookie === undefined ? ("read" as const) : { by: cookie, actions: [] };
  };
  const { page } = await seedDenied(own.client, { authorize });
  const load = (cookie: string) => api(page, "limiter?name=api", undefined, { cookie });
  // Each takes 10 of the 2,000 lookups of the budget, which refills by 200 per second.
  const answers = await Promise.all(Array.from({ length: 600 }, () => load("mallory")));
  const refused = answers.filter(({ status }) => status === 429);
  expect(answers.length - refused.length).toBeGreaterThanOrEqual(200);
  expect(refused.length).toBeGreaterThan(0);
  expect(refused[0]?.json).toMatchObject({ error: { code: "TOO_MANY_READS" } });
  expect(Number(refused[0]?.headers["retry-after"])).toBeGreaterThanOrEqual(1);
  expect((await load("ann")).status).toBe(200);
  expect((await api(page, "limiter?name=api")).status).toBe(200);
  // Shared views are never refused.
  expect((await api(page, "overview", undefined, { cookie: "mallory" })).status).toBe(200);
});

describe("a visitor of some limiters who has exceeded the read budget", () => {
  /** Requests of visitors to one dashboard. Each admission of a limiter by `limiters` is counted. */
  async function seed() {
    const { options } = await seedDenied(own.client);
    const dashboard = createDashboard(options);
    let asked = 0;
    const limiters = (): boolean => {
      asked += 1;
      return true;
    };
    const contextOf = (by: string) => {
      const visitor = parsePermission({ by, actions: [], limiters }, false);
      return { dashboard, visitor, reader: visibleTo(dashboard.reader, visitor) };
    };
    const mallory = contextOf("mallory");
    await dashboard.readBudget.spend(mallory.visitor, 2_000);
    // Until this would be admitted, ten seconds pass.
    await expect(dashboard.readBudget.spend(mallory.visitor, 2_000)).rejects.toEqual(TOO_MANY);
    return { mallory, contextOf, countOf: () => asked };
  }

  test("is refused a look-up of a client before any limiter is considered", async () => {
    const { mallory, contextOf, countOf } = await seed();
    const lookUp = async (context: EndpointContext) =>
      WRITE_ENDPOINTS["subject"]?.(context, { subject: "ann", kind: "text" });
    await expect(lookUp(mallory)).rejects.toEqual(TOO_MANY);
    expect(countOf()).toBe(0);
    expect(await lookUp(contextOf("ann"))).toMatchObject({ limiters: [{ name: "api" }] });
    expect(countOf()).toBeGreaterThan(0);
  });

  test("gets an overview only if another visitor who may see the same limiters has just loaded it", async () => {
    const { mallory, contextOf } = await seed();
    const overview = async (context: EndpointContext) =>
      READ_ENDPOINTS["overview"]?.(context, new URLSearchParams());
    await expect(overview(mallory)).rejects.toEqual(TOO_MANY);
    const loaded = await overview(contextOf("ann"));
    expect(loaded).toMatchObject({ limiters: [{ name: "api" }] });
    expect(await overview(mallory)).toBe(loaded);
  });
});

test("guessing limiter names costs Redis nothing", async () => {
  const { page } = await seedDenied(own.client);
  expect((await api(page, "limiter?name=none")).status).toBe(404);
  await own.client.config("RESETSTAT");
  const names = Array.from({ length: 150 }, (_, i) => `none-${i}`);
  await Promise.all(names.map((name) => api(page, `limiter?name=${name}`)));
  const stats = await own.client.info("commandstats");
  const calls = [...stats.matchAll(/^cmdstat_(?:get|getrange|mget|strlen|evalsha):calls=(\d+)/gm)];
  // The shared snapshot may have been refreshed.
  expect(calls.reduce((sum, [, count]) => sum + Number(count), 0)).toBeLessThan(60);
});
