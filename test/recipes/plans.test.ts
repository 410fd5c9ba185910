import { memoryStore } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { beforeEach, describe, expect, test } from "vitest";
import { createApp } from "../../examples/plans-from-a-database/server.ts";
import { useLongStoreTimeout } from "../support/long-store-timeout.ts";
import { useOwnDatabase } from "../support/own-database.ts";
import { serve } from "../support/serve.ts";

useLongStoreTimeout();

const redis = useOwnDatabase();

const STORES = {
  "in memory": () => memoryStore(),
  "on Redis": () => redisStore(redis, { prefix: `plans-${Math.random()}` }),
};

describe.each(Object.entries(STORES))("plans, %s", (_, createStore) => {
  let url: string;
  beforeEach(async () => {
    const app = createApp(createStore());
    await app.ready();
    url = await serve(app.routing);
  });

  const send = (key: string) => fetch(url, { headers: { "x-api-key": key } });

  const become = (key: string, plan: string) =>
    fetch(`${url}/customers/${key}/plan/${plan}`, { method: "PUT" });

  /** Sends so many requests; resolves with the number of admitted ones. */
  async function admitted(count: number, key: string): Promise<number> {
    let admitted = 0;
    for (let i = 0; i < count; i += 1) if ((await send(key)).ok) admitted += 1;
    return admitted;
  }

  test("an upgrade and a downgrade keep the count", async () => {
    expect(await admitted(32, "ada-key")).toBe(30);
    await become("ada-key", "pro");
    const upgraded = await send("ada-key");
    expect(await upgraded.json()).toEqual({ left: 969 });
    expect(upgraded.headers.get("ratelimit-policy")).toBe('"plan";q=1000;w=3600');
    await become("ada-key", "free");
    expect((await send("ada-key")).status).toBe(429);
  });

  test("a customer has the agreed limit, and another has none", async () => {
    expect(await admitted(53, "grace-key")).toBe(50);
    const internal = await send("robot-key");
    expect(await internal.json()).toEqual({ left: "any number" });
    expect(internal.headers.get("ratelimit")).toBeNull();
  });

  test("a plan or a key that does not exist is an error, not an unlimited request", async () => {
    await become("ada-key", "misspelt");
    expect((await send("ada-key")).status).toBe(500);
    await become("ada-key", "free");
    expect((await send("made-up")).status).toBe(401);
    expect((await become("ada-key", "free")).headers.get("ratelimit")).toBeNull();
  });
});
