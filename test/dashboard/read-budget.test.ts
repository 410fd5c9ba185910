import { expect, test } from "vitest";
import { useOwnRedis } from "../support/own-redis.ts";
import { seedDenied } from "./support/seed-denied.ts";
import { api } from "./support/send-request.ts";

const own = useOwnRedis();

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
