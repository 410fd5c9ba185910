import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { expect, onTestFinished, test } from "vitest";
import { concurrency } from "../algorithms/concurrency.ts";
import { gcra } from "../algorithms/gcra.ts";
import { createLimiter, createLimiterForPlugin } from "../limiter/create-limiter.ts";
import type { LimiterOptions } from "../limiter/limiter.ts";
import { memoryStore } from "../store/memory-store.ts";
import type { InUseCount } from "./publish.ts";
import { CHANNELS, trackInUse } from "./publish.ts";

/** What is published on a channel until the test ends. */
function hear(channel: string): InUseCount[] {
  const heard: InUseCount[] = [];
  const note = (message: unknown) => void heard.push(message as InUseCount);
  subscribe(channel, note);
  onTestFinished(() => void unsubscribe(channel, note));
  return heard;
}

const places = concurrency({ limit: 5, ttl: "1h" });

function limiterOf(options: Omit<LimiterOptions<string>, "store">, plugin?: string) {
  const store = memoryStore({ clock: () => 1_000_000 });
  const limiter = createLimiterForPlugin({ store, ...options }, plugin);
  onTestFinished(() => limiter.close());
  return limiter;
}

test("acquired and released slots are published with exactly these fields", async () => {
  const heard = hear(CHANNELS.slots);
  const limiter = limiterOf({ name: "api GET /exports", limits: places }, "api");
  const decision = await limiter.consume("ada");
  await limiter.release(decision);
  const message = { limiter: "api GET /exports", plugin: "api" };
  expect(heard).toStrictEqual([
    { ...message, count: 1 },
    { ...message, count: 0 },
  ]);
});

test("granted slots are counted once each, and by name in the requested number", async () => {
  const heard = hear(CHANNELS.slots);
  const limiter = limiterOf({ name: "exports", limits: { ...places, name: "places" } });
  await limiter.peek("ada");
  const decision = await limiter.consume("ada", { cost: { places: 4 } });
  await limiter.consume("ada", { cost: { places: 2 } });
  await limiter.run("ada", async () => {});
  await limiter.release(decision);
  await limiter.release(decision);
  expect(heard.map(({ count }) => count)).toEqual([4, 5, 4, 0]);
});

test("a call of wait counts as waiting until it is admitted or aborted", async () => {
  const heard = hear(CHANNELS.waiting);
  const limiter = limiterOf({ name: "line", limits: gcra({ limit: 1, window: "1h" }) });
  await limiter.wait("ada");
  const abort = new AbortController();
  const waiting = ["ada", "ada"].map((who) => limiter.wait(who, { signal: abort.signal }));
  abort.abort();
  await Promise.allSettled(waiting);
  expect(heard.map(({ count }) => count)).toEqual([1, 0, 1, 2, 1, 0]);
  expect(heard[0]).toStrictEqual({ limiter: "line", plugin: undefined, count: 1 });
});

test("nothing is counted without a subscriber, even if one subscribes before the end", async () => {
  expect(trackInUse("slots", { limiter: "quiet", plugin: undefined })).toBeUndefined();
  const limiter = createLimiter({ name: "quiet", limits: places });
  onTestFinished(() => limiter.close());
  const before = await limiter.consume("ada");
  const heard = hear(CHANNELS.slots);
  await limiter.release(before);
  expect(heard).toEqual([]);
});
