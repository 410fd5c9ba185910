import type { Limit } from "@headgate/express";
import { gcra, memoryStore, rateLimit, slidingLog } from "@headgate/express";
import express from "express";
import { expect, test } from "vitest";
import { serve as serveApp } from "../../test/support/serve.ts";
import { createClient } from "./client.ts";

/** An API with limits, and a client of it, on one clock that only waits move. */
async function serve(limits: Limit<"default"> | Limit<"default">[], cost = 1) {
  const clock = { now: 1_800_000_000_000 };
  const waits: number[] = [];
  const statuses: number[] = [];
  const app = express();
  app.use((_, res, next) => {
    res.on("finish", () => statuses.push(res.statusCode));
    next();
  });
  const store = memoryStore({ clock: () => clock.now });
  app.use(rateLimit({ name: "api", store, limits, cost: () => cost }));
  app.post("/", express.text(), (req, res) => {
    res.send(req.body);
  });
  const url = `${await serveApp(app)}/`;
  const options = {
    now: () => clock.now,
    sleep: async (ms: number) => {
      waits.push(ms);
      clock.now += Math.ceil(ms);
    },
  };
  const ask = async (client: typeof fetch) => {
    const answer = await client(url, { method: "POST", body: "hello" });
    return `${answer.status} ${answer.ok ? await answer.text() : ""}`.trimEnd();
  };
  return { ask, waits, statuses, options };
}

test("a single client paces itself and is never denied", async () => {
  const { ask, waits, statuses, options } = await serve([
    gcra({ limit: 5, window: "1m" }),
    slidingLog({ limit: 8, window: "5m", name: 'a name with ;r=0;t=999 and "quotes"' }),
  ]);
  const client = createClient({ ...options, longestWait: 600_000 });
  for (let i = 0; i < 20; i += 1) expect(await ask(client)).toBe("200 hello");
  expect(statuses).toEqual(Array(20).fill(200));
  // Five and three at once, then as the limits let it: it waits for the one that has nothing left, and hardly longer.
  expect(waits.length).toBeGreaterThan(5);
  expect(waits.filter((ms) => ms > 300_000 * 1.1)).toEqual([]);
});

test("with other clients, it waits for retryAfter and retries", async () => {
  const { ask, waits, statuses, options } = await serve(gcra({ limit: 5, window: "1m" }));
  for (let i = 0; i < 5; i += 1) await ask(fetch);
  expect(await ask(createClient(options))).toBe("200 hello");
  expect(statuses.slice(5)).toEqual([429, 200]);
  expect(waits).toHaveLength(1);
  expect(waits[0]).toBeGreaterThanOrEqual(12_000);
  expect(waits[0]).toBeLessThanOrEqual(13_200);
});

test("it returns a denial to its caller if the wait is too long or infinite", async () => {
  const long = await serve(slidingLog({ limit: 1, window: "1h" }));
  await long.ask(fetch);
  expect(await long.ask(createClient(long.options))).toBe("429");
  expect(long.statuses).toEqual([200, 429]);

  const never = await serve(gcra({ limit: 5, window: "1m" }), 6);
  expect(await never.ask(createClient(never.options))).toBe("429");
  expect(never.statuses).toEqual([429]);
});

test("it gives up after the maximum of retries", async () => {
  const { ask, statuses, options } = await serve(gcra({ limit: 1, window: "1m" }));
  await ask(fetch);
  // Somebody else is always faster.
  const sleep = async (ms: number) => {
    await options.sleep(ms);
    await ask(fetch);
  };
  expect(await ask(createClient({ ...options, sleep, retries: 2 }))).toBe("429");
  expect(statuses).toEqual([200, 429, 200, 429, 200, 429]);
});
