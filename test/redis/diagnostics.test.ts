import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { Limiter, StoreDown, StoreServer, StoreUp } from "@headgate/core";
import { CHANNELS, createLimiter, gcra } from "@headgate/core";
import { expect, onTestFinished, test, vi } from "vitest";
import { useLosableRedis } from "../http/support/losable-redis.ts";
import { watchUnhandled } from "../http/support/unhandled.ts";
import { watchWarnings } from "../http/support/warnings.ts";

const redis = useLosableRedis();

/** What is published of the store until the test ends, in order. */
function listen(): [channel: string, message: unknown][] {
  const messages: [string, unknown][] = [];
  const note = (message: unknown, channel: string | symbol) => {
    messages.push([String(channel), message]);
  };
  for (const channel of [CHANNELS.storeDown, CHANNELS.storeUp, CHANNELS.degraded]) {
    subscribe(channel, note);
    onTestFinished(() => void unsubscribe(channel, note));
  }
  return messages;
}

async function start(): Promise<Limiter> {
  const store = await redis.openStore();
  // Longer than the default, for a machine that does other things as well.
  const storeTimeout = "500ms";
  const limits = gcra({ limit: 5, window: "1h" });
  const limiter = createLimiter({ name: "api", limits, store, storeTimeout });
  onTestFinished(() => limiter.close());
  await limiter.consume("u");
  return limiter;
}

test("the channels have their documented names", () => {
  expect(CHANNELS).toEqual({
    storeDown: "headgate:store:down",
    storeUp: "headgate:store:up",
    storeServer: "headgate:store:server",
    degraded: "headgate:decision:degraded",
    decision: "headgate:decision",
    threshold: "headgate:threshold",
    listed: "headgate:request:listed",
    waiting: "headgate:waiting",
    slots: "headgate:slots",
  });
});

test("an outage, its degraded decisions and the recovery are published, with exactly these fields", async () => {
  watchWarnings();
  const messages = listen();
  const limiter = await start();
  expect(messages).toEqual([]);
  redis.lose();
  const decisions = [
    await limiter.consume("u"),
    await limiter.peek("u"),
    await limiter.consume("v"),
  ];
  await redis.restore();
  await limiter.consume("u");
  const channels = messages.map(([channel]) => channel);
  expect(channels).toEqual([
    CHANNELS.storeDown,
    CHANNELS.degraded,
    CHANNELS.degraded,
    CHANNELS.degraded,
    CHANNELS.storeUp,
  ]);
  const down = messages[0]?.[1] as StoreDown;
  expect(Object.keys(down).toSorted()).toEqual(["node", "reason"]);
  expect(down).toMatchObject({
    node: "",
    reason: { name: "HeadgateError", code: "HEADGATE_STORE_UNAVAILABLE" },
  });
  for (const [i, decision] of decisions.entries()) {
    const message = messages[i + 1]?.[1] as Record<string, unknown>;
    expect(message).toEqual({ limiter: "api", decision, reason: down.reason });
    expect(message["decision"]).toBe(decision);
  }
  const up = messages[4]?.[1] as StoreUp;
  expect(up).toEqual({ node: "", downMs: expect.any(Number), rejectedCalls: 2 });
  expect(up.downMs).toBeGreaterThan(0);
  expect(up.downMs).toBeLessThan(15_000);
});

test("a server's state is published after its first reply, at each change, and when the last limiter closes", async () => {
  watchWarnings();
  const messages: StoreServer[] = [];
  const note = (message: unknown): void => void messages.push(message as StoreServer);
  subscribe(CHANNELS.storeServer, note);
  onTestFinished(() => void unsubscribe(CHANNELS.storeServer, note));
  // The control record is read before the first decision, which so finds a server that has answered.
  const limiter = await start();
  for (let i = 0; i < 3; i += 1) await limiter.consume("u");
  const up = { node: "", monitor: expect.any(Object), state: "up" };
  expect(messages).toStrictEqual([up]);
  redis.lose();
  await limiter.consume("u");
  await redis.restore();
  await limiter.close();
  expect(messages.map(({ state }) => state)).toEqual(["up", "down", "up", "unwatched"]);
  expect(new Set(messages.map(({ monitor }) => monitor)).size).toBe(1);
});

test("a server's state is published repeatedly while it is used, so that new subscribers learn of it", async () => {
  const messages: StoreServer[] = [];
  const note = (message: unknown): void => void messages.push(message as StoreServer);
  const limiter = await start();
  const now = vi.spyOn(performance, "now");
  onTestFinished(() => now.mockRestore());
  // Whole, for the difference of two sums may be rounded to less than it is.
  const passed = Math.ceil(performance.now());
  subscribe(CHANNELS.storeServer, note);
  onTestFinished(() => void unsubscribe(CHANNELS.storeServer, note));
  for (const ms of [0, 999, 1_000, 1_999, 2_000]) {
    now.mockReturnValue(passed + ms);
    await limiter.consume("v");
  }
  expect(messages.map(({ state }) => state)).toEqual(["up", "up", "up"]);
});

test("subscribers that throw affect neither decisions nor recovery", async () => {
  watchWarnings();
  const settled = watchUnhandled();
  const fail = (): never => {
    throw new Error("a bug");
  };
  for (const channel of Object.values(CHANNELS)) {
    subscribe(channel, fail);
    onTestFinished(() => void unsubscribe(channel, fail));
  }
  const limiter = await start();
  redis.lose();
  expect(await limiter.consume("u")).toMatchObject({ allowed: true, source: "local" });
  await redis.restore();
  expect(await limiter.consume("u")).toMatchObject({ allowed: true, source: "store" });
  await settled();
});
