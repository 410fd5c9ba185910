import { redisStore } from "@headgate/core/redis";
import { expect, test } from "vitest";
import { createApp } from "../../examples/per-customer/server.ts";
import { useHeadgate } from "../cli/actions/use-headgate.ts";
import { useLongStoreTimeout } from "../support/long-store-timeout.ts";
import { serve } from "../support/serve.ts";
import { writeRegistry } from "../support/write-registry.ts";

useLongStoreTimeout();

const own = useHeadgate();

/** Serves the example, listed in the registry; resolves with a function that sends a customer's request. */
async function start(prefix = "hg"): Promise<(key: string) => Promise<Response>> {
  const store = redisStore(own.client, { prefix });
  const url = await serve(createApp(store));
  await writeRegistry(store);
  return (key) => fetch(url, { headers: { "x-api-key": key } });
}

/** Sends Grace's requests until one is denied; resolves with the number of admitted ones. */
async function useUp(send: (key: string) => Promise<Response>): Promise<number> {
  let count = 0;
  while ((await send("grace-key")).ok) count += 1;
  return count;
}

const policyOf = (answer: Response) => answer.headers.get("ratelimit-policy");

test("each customer has a limit, and invented keys share that of their address", async () => {
  const send = await start();
  expect(policyOf(await send("ada-key"))).toBe('"hourly";q=200;w=3600');
  expect(await useUp(send)).toBe(30);
  expect((await send("ada-key")).status).toBe(200);
  await send("made-up");
  expect(await (await send("made-up-too")).json()).toEqual({ left: 28 });
});

test("a command raises one customer's limit, keeps the count, and removes the override", async () => {
  const send = await start("shop");
  await useUp(send);
  const where = ["--prefix", "shop", "--limiter", "api", "--subject", "grace"];
  const set = await own.run(["set", ...where, "hourly.limit=300", "--for", "2h"]);
  expect([set.stderr, set.exitCode]).toEqual(["", 0]);
  await expect.poll(async () => (await send("grace-key")).status).toBe(200);
  const raised = await send("grace-key");
  expect(policyOf(raised)).toBe('"hourly";q=300;w=3600');
  const { left } = (await raised.json()) as { left: number };
  expect(left).toBeLessThan(270);
  expect(policyOf(await send("ada-key"))).toBe('"hourly";q=200;w=3600');
  expect((await own.run(["unset", ...where])).exitCode).toBe(0);
  await expect.poll(async () => (await send("grace-key")).status).toBe(429);
});
