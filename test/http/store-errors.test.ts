import type { Store } from "@headgate/core";
import { gcra, memoryStore } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { createClient } from "redis";
import { expect, inject, test } from "vitest";
import { describeFrameworks } from "./support/describe-frameworks.ts";

const limits = gcra({ limit: 1, window: "1h" });

/** Stores whose client has been closed, as at the end of a process or by mistake. */
const closed: { client: string; open(): Promise<Store> }[] = [
  {
    client: "ioredis",
    async open() {
      const client = new Redis(inject("redisSocket"));
      await client.quit();
      return redisStore(client);
    },
  },
  {
    client: "node-redis",
    async open() {
      const client = createClient({ socket: { path: inject("redisSocket"), tls: false } });
      client.on("error", () => {});
      await client.connect();
      await client.close();
      return redisStore(client);
    },
  },
];

describeFrameworks(({ serve }) => {
  test.each(closed)(
    "a closed client of $client makes requests neither unlimited nor hang, and is logged once",
    async ({ open }) => {
      const site = await serve({ limits: { name: "api", limits, store: await open() } });
      const statuses: number[] = [];
      for (let i = 0; i < 3; i++) statuses.push((await site.sendRequest()).status);
      expect(statuses).toEqual([200, 429, 429]);
      expect(site.errors).toEqual([]);
      expect(site.handled).toHaveLength(1);
      expect(site.warnings).toEqual([
        { code: "HEADGATE_STORE_DOWN", message: expect.stringMatching(/clos/i) },
      ]);
    },
  );

  test.each(closed)(
    'with onUnavailable: "deny", a closed client denies every request: $client',
    async ({ open }) => {
      const store = await open();
      const site = await serve({ limits: { name: "api", limits, store, onUnavailable: "deny" } });
      for (let i = 0; i < 3; i++) expect((await site.sendRequest()).status).toBe(503);
      expect(site.handled).toEqual([]);
      expect(site.errors).toEqual([]);
    },
  );

  test("the framework's own error handler responds with 500, and the process continues", async () => {
    const clock = { now: Number.NaN };
    const store = memoryStore({ clock: () => clock.now });
    const site = await serve({ limits: { name: "api", limits, store }, ownErrorHandler: false });
    const failed = await site.sendRequest();
    expect(failed.status).toBe(500);
    expect(failed.headers).not.toHaveProperty("x-ratelimit-limit");
    clock.now = 1_800_000_000_000;
    expect((await site.sendRequest()).status).toBe(200);
    expect((await site.sendRequest()).status).toBe(429);
  });
});
