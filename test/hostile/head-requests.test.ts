import { setImmediate } from "node:timers/promises";
import { concurrency, fixedWindow, rateLimit } from "@headgate/hono";
import { Hono } from "hono";
import { expect, test } from "vitest";
import { IS_LONG } from "./crowd.ts";
import { liveMebibytes } from "./memory-use.ts";

/** At most the slots of a limit, so that none would be denied if the slots were kept. */
const REQUESTS = IS_LONG ? 9_000 : 3_000;

test("HEAD requests on the Fetch API take less than 2 MB, although nobody reads their responses", async () => {
  const key = () => "everybody";
  const app = new Hono().use(
    rateLimit({ limits: concurrency({ limit: 10_000, ttl: "1h" }), key }),
    rateLimit({ limits: fixedWindow({ limit: REQUESTS * 2, window: "1h" }), key, count: "failed" }),
  );
  app.get("/", (c) => c.text("hello"));
  const send = async (count: number): Promise<number> => {
    for (let i = 0; i < count; i += 1) {
      const { status } = await app.request("/", { method: "HEAD" });
      expect(status).toBe(200);
      await setImmediate();
    }
    return liveMebibytes();
  };
  const before = await send(REQUESTS / 10);
  expect((await send(REQUESTS)) - before).toBeLessThan(2);
});
