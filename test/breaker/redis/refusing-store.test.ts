import type { Breaker } from "@headgate/breaker";
import { createBreaker } from "@headgate/breaker";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { LIBRARIES, makeClient } from "../../faults/clients.ts";
import { watchWarnings } from "../../http/support/warnings.ts";
import type { RedisProcess } from "../../support/redis-process.ts";
import { startRedis } from "../../support/redis-process.ts";
import { waitUntil } from "../../support/wait-until.ts";
import { listenToBreaker } from "./breaker-events.ts";

/** Clients come back in their own time. */
const BACK_MS = 10_000;

let server: RedisProcess;
let admin: Redis;
beforeAll(async () => {
  server = await startRedis({ port: true });
  admin = new Redis(server.socket);
});
afterAll(async () => {
  admin.disconnect();
  await server.stop();
});
beforeEach(() => admin.flushall());

function start(client: Parameters<typeof redisStore>[0], name: string) {
  const breaker: Breaker<string> = createBreaker<string>({
    name,
    store: redisStore(client),
    storeTimeout: "300ms",
    minimumCalls: 4,
    openFor: "5m",
    flushInterval: 0,
  });
  const events = listenToBreaker(name);
  onTestFinished(async () => {
    events.stop();
    await breaker.close();
  });
  return { breaker, events };
}

async function failTimes(breaker: Breaker<string>, times: number): Promise<void> {
  const down = new Error("down");
  for (let i = 0; i < times; i += 1) {
    // Nothing but the upstream's own error.
    await expect(breaker.run(() => Promise.reject(down))).rejects.toBe(down);
  }
}

/** Warnings come a turn of the loop later. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

describe("keys of the wrong type", () => {
  const name = "wrong-type";
  const period = `hg:{default}:breaker/${name}`;

  test.each(["period", "window"])(
    "a %s key of the wrong type degrades its target, is reported once and keeps its value",
    async (which) => {
      const warnings = watchWarnings();
      const client = new Redis(server.socket);
      onTestFinished(() => client.disconnect());
      const { breaker, events } = start(client, name);
      await breaker.record("success");
      await breaker.forceOpen();
      await breaker.reset();
      const keys = await admin.keys("*");
      expect(keys).toHaveLength(2);
      const key = keys.find((one) => (one === period) === (which === "period")) as string;
      await admin.multi().del(key).sadd(key, "not ours").exec();

      await failTimes(breaker, 4);
      expect(await breaker.run(() => "upstream", { fallback: () => "fallback" })).toBe("fallback");
      expect(await breaker.snapshot()).toMatchObject({
        state: "open",
        degraded: true,
        failures: 4,
      });
      expect(events.degraded).toMatchObject([{ target: "default" }]);
      expect(events.degraded[0]?.reason.code).toBe("HEADGATE_WRONG_TYPE");
      await expect(breaker.reset()).rejects.toMatchObject({ code: "HEADGATE_WRONG_TYPE" });
      await turn();
      expect(warnings).toEqual([
        { code: "HEADGATE_WRONG_TYPE", message: expect.stringContaining(period) },
      ]);
      expect(await admin.smembers(key)).toEqual(["not ours"]);
      // Another target of the same breaker is not affected.
      expect(await breaker.for("other").snapshot()).toMatchObject({ degraded: false });

      await admin.del(key);
      expect(await breaker.snapshot()).toMatchObject({ state: "closed", degraded: false });
      await breaker.reset();
    },
  );
});

describe.each(LIBRARIES)("a changed password, with %s", (library) => {
  test("a changed password is an outage that is published once", async () => {
    const warnings = watchWarnings();
    const { client, connected, close } = makeClient(library, { kind: "server", port: server.port });
    onTestFinished(close);
    await connected;
    const { breaker, events } = start(client, `password-${library}`);
    await breaker.run(() => "fine");
    await admin.config("SET", "requirepass", "changed");
    onTestFinished(async () => void (await admin.config("SET", "requirepass", "")));
    await admin.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");

    await failTimes(breaker, 3);
    expect(await breaker.run(() => "upstream", { fallback: () => "fallback" })).toBe("fallback");
    expect(await breaker.snapshot()).toMatchObject({ state: "open", degraded: true });
    for (let i = 0; i < 50; i += 1) await breaker.run(() => "upstream", { fallback: () => "no" });
    expect(events.degraded).toHaveLength(1);
    await admin.config("SET", "requirepass", "");
    await waitUntil("the store is back", BACK_MS, async () => {
      const { degraded } = await breaker.snapshot();
      return degraded ? undefined : true;
    });
    expect(events.degraded).toHaveLength(1);
    await turn();
    // The server has words of several kinds for it, also for a call of many arguments; each is reported once.
    const messages = warnings.map(({ message }) => message);
    expect(new Set(messages).size, messages.join("\n")).toBe(messages.length);
    expect(messages.join()).toMatch(/NOAUTH|unauthenticated|gave no answer/);
  });
});
