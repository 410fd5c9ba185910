import { slidingLog } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { expect, onTestFinished, test } from "vitest";
import { startRedis } from "../../support/redis-process.ts";
import { describeAdapters } from "../support/describe-frameworks.ts";
import type { SharedOptions } from "../support/framework.ts";
import { useLosableRedis } from "../support/losable-redis.ts";
import { manualClock } from "../support/manual-clock.ts";
import { openRequest, statusOf, waitedMs, watchQueue } from "./waiting-clients.ts";

const losable = useLosableRedis();
const WINDOW_MS = 100;
const limits = slidingLog({ limit: 1, window: WINDOW_MS });

describeAdapters(({ serve }) => {
  test.each([
    ["deny", [503, 503]],
    ["allow", [200, 200]],
    // As much as this process admits by itself.
    ["local", [200, 429]],
  ] as const)(
    "Redis frozen while requests wait, and onUnavailable %s: they get %j as soon as Redis is needed",
    async (onUnavailable, statuses) => {
      const line = watchQueue();
      const clock = manualClock();
      const store = await losable.openStore(clock.now);
      const options: SharedOptions = { name: "waiting", limits, store, onUnavailable, wait: "10m" };
      const { port, sendRequest, errors } = await serve({ limits: options });
      await sendRequest();
      const visits = await Promise.all([openRequest(port, "/"), openRequest(port, "/")]);
      await line.joined(2);
      losable.lose();
      clock.advance(WINDOW_MS);
      const answers = await Promise.all(visits.map(({ response }) => response));
      expect(answers.map(statusOf).sort()).toEqual(statuses);
      expect(answers[0]).toMatch(/server-timing: headgate;dur=/i);
      expect(errors).toEqual([]);
      await losable.restore();
    },
  );

  test("a frozen Redis delays no request longer than its wait", async () => {
    const line = watchQueue();
    const store = await losable.openStore();
    const hourly = slidingLog({ limit: 1, window: "1h" });
    const options = {
      name: "waiting",
      limits: hourly,
      store,
      storeTimeout: "1m",
      wait: 300,
    } as const;
    const { port, sendRequest } = await serve({ limits: options });
    await sendRequest();
    const visited = await openRequest(port, "/");
    await line.joined(1);
    losable.lose();
    const answer = await visited.response;
    expect(statusOf(answer)).toBe(429);
    expect(waitedMs(/server-timing: (.*)\r/i.exec(answer)?.[1])).toBeGreaterThanOrEqual(299);
  });

  test("Redis killed while requests wait: they are decided without it", async () => {
    const line = watchQueue();
    const server = await startRedis();
    onTestFinished(() => server.stop());
    const client = new Redis(server.socket);
    client.on("error", () => {});
    onTestFinished(() => client.disconnect());
    const clock = manualClock();
    const store = redisStore(client, { clock: clock.now });
    const options: SharedOptions = {
      name: "waiting",
      limits,
      store,
      onUnavailable: "deny",
      wait: "10m",
    };
    const { port, sendRequest, errors } = await serve({ limits: options });
    await sendRequest();
    const visits = await Promise.all([openRequest(port, "/"), openRequest(port, "/")]);
    await line.joined(2);
    await server.stop();
    clock.advance(WINDOW_MS);
    const answers = await Promise.all(visits.map(({ response }) => response));
    expect(answers.map(statusOf)).toEqual([503, 503]);
    expect(errors).toEqual([]);
  });
});
