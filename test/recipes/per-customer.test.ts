import { redisStore } from "@headgate/core/redis";
import { expect, test } from "vitest";
import { createApp } from "../../examples/per-customer/server.ts";
import { useHeadgate } from "../cli/actions/use-headgate.ts";
import { useLongStoreTimeout } from "../support/long-store-timeout.ts";
import { serve } from "../support/serve.ts";
import { writeRegistry } from "../support/write-registry.ts";

useLongStoreTimeout();

const own = useHeadgate();

/** Serves it, listed in the registry; resolves with what asks as a customer. */
async function start(prefix = "hg"): Promise<(key: string) => Promise<Response>> {
  const store = redisStore(own.client, { prefix });
  const url = await serve(createApp(store));
  await writeRegistry(store);
  return (key) => fetch(url, { headers: { "x-api-key": key } });
}

/** Asks until Grace is denied; resolves with how often she was not. */
async function useUp(ask: (key: string) => Promise<Response>): Promise<number> {
  let count = 0;
  while ((await ask("grace-key")).ok) count += 1;
  return count;
}

const policyOf = (answer: Response) => answer.headers.get("ratelimit-policy");

test("each customer has a limit, and invented keys share that of their address", async () => {
  const ask = await start();
  expect(policyOf(await ask("ada-key"))).toBe('"hourly";q=200;w=3600');
  expect(await useUp(ask)).toBe(30);
  expect((await ask("ada-key")).status).toBe(200);
  await ask("made-up");
  expect(await (await ask("made-up-too")).json()).toEqual({ left: 28 });
});

test("a command raises one customer's limit, keeps the count, and removes the override", async () => {
  const ask = await start("shop");
  await useUp(ask);
  const where = ["--prefix", "shop", "--limiter", "api", "--subject", "grace"];
  const set = await own.run(["set", ...where, "hourly.limit=300", "--for", "2h"]);
  expect([set.stderr, set.exitCode]).toEqual(["", 0]);
  await expect.poll(async () => (await ask("grace-key")).status).toBe(200);
  const raised = await ask("grace-key");
  expect(policyOf(raised)).toBe('"hourly";q=300;w=3600');
  const { left } = (await raised.json()) as { left: number };
  expect(left).toBeLessThan(270);
  expect(policyOf(await ask("ada-key"))).toBe('"hourly";q=200;w=3600');
  expect((await own.run(["unset", ...where])).exitCode).toBe(0);
  await expect.poll(async () => (await ask("grace-key")).status).toBe(429);
});
