import { concurrency } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { describe, expect, test } from "vitest";
import { waitUntil } from "../../support/wait-until.ts";
import type { HandledRequest } from "../slots/sites.ts";
import { describeSites } from "../slots/sites.ts";
import { eventually } from "../support/eventually.ts";
import { uniquePrefix, useRedis } from "../support/redis-client.ts";
import { createHttpClient } from "../support/send-request.ts";
import { openRequest, statusOf, watchQueue } from "./waiting-clients.ts";

const redis = useRedis();
const limits = concurrency({ limit: 1, ttl: "10m" });

describeSites((serve) => {
  describe.each(["memory", "Redis"])("with counts in %s", (place) => {
    async function serving() {
      const running: HandledRequest[] = [];
      const site = await serve({
        limits,
        handle: (handled) => running.push(handled),
        options: { wait: "10m" },
        ...(place === "Redis" && { store: redisStore(redis, { prefix: uniquePrefix() }) }),
      });
      const handled = (i: number) =>
        waitUntil(`request ${i} is handled`, 20_000, () => running[i]?.response);
      return { ...site, ...createHttpClient(site), running, handled };
    }

    test("a waiting request takes over a slot when it is released", async () => {
      const { sendRequest, end, handled, remaining } = await serving();
      const first = sendRequest();
      const response = await handled(0);
      const others = [sendRequest(), sendRequest()];
      response.end("first");
      expect(await first).toMatchObject({ status: 200, text: "first" });
      (await handled(1)).end("next");
      (await handled(2)).end("next");
      for (const answer of await Promise.all(others)) {
        expect(answer).toMatchObject({ status: 200, text: "next" });
      }
      await eventually(async () => expect(await remaining()).toBe(1));
      await end();
    });

    test("a client that disconnects while it waits holds no slot", async () => {
      const line = watchQueue();
      const { port, sendRequest, end, handled, running, remaining } = await serving();
      const first = sendRequest();
      const response = await handled(0);
      const { response: answer, disconnect } = await openRequest(port, "/");
      await line.joined(1);
      disconnect();
      expect(statusOf(await answer)).toBe(0);
      const last = sendRequest();
      response.end("first");
      await first;
      (await handled(1)).end("last");
      expect((await last).status).toBe(200);
      expect(running).toHaveLength(2);
      await eventually(async () => expect(await remaining()).toBe(1));
      await end();
    });
  });
});
