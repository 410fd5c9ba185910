import { concurrency } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { describe, expect, test } from "vitest";
import { waitUntil } from "../../support/wait-until.ts";
import type { Handled } from "../slots/sites.ts";
import { describeSites } from "../slots/sites.ts";
import { askAt } from "../support/ask.ts";
import { eventually } from "../support/eventually.ts";
import { uniquePrefix, useRedis } from "../support/redis-client.ts";
import { statusOf, visit, watchLine } from "./visitors.ts";

const redis = useRedis();
const limits = concurrency({ limit: 1, ttl: "10m" });

describeSites((serve) => {
  describe.each(["memory", "Redis"])("with counts in %s", (place) => {
    async function serving() {
      const running: Handled[] = [];
      const site = await serve({
        limits,
        handle: (handled) => running.push(handled),
        options: { wait: "10m" },
        ...(place === "Redis" && { store: redisStore(redis, { prefix: uniquePrefix() }) }),
      });
      const handled = (i: number) =>
        waitUntil(`request ${i} is handled`, 20_000, () => running[i]?.response);
      return { ...site, ...askAt(site), running, handled };
    }

    test("a waiting request takes over a slot when it is released", async () => {
      const { ask, end, handled, remaining } = await serving();
      const first = ask();
      const response = await handled(0);
      const others = [ask(), ask()];
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
      const line = watchLine();
      const { port, ask, end, handled, running, remaining } = await serving();
      const first = ask();
      const response = await handled(0);
      const { answer, leave } = await visit(port, "/");
      await line.joined(1);
      leave();
      expect(statusOf(await answer)).toBe(0);
      const last = ask();
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
