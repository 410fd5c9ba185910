import { expect, test } from "vitest";
import { fixedWindow } from "../algorithms/fixed-window.ts";
import { gcra } from "../algorithms/gcra.ts";
import { memoryStore } from "../store/memory-store.ts";
import type { CountingStore } from "../store/store.ts";
import { requireStore } from "../store/store.ts";
import { createLimiter } from "./create-limiter.ts";
import type { Limiter, LimiterOptions } from "./limiter.ts";
import { internalsOf } from "./limiter-internals.ts";

const hourly = () => fixedWindow({ limit: 5, window: "1h" });

function startMaking(store: CountingStore = requireStore(memoryStore())) {
  return (options: Partial<LimiterOptions> = {}): Limiter =>
    createLimiter({ name: "api", limits: hourly(), store, ...options });
}

/** Limiters that are one share all that was compiled. */
function areOne(one: Limiter, other: Limiter): boolean {
  return internalsOf(one).policy === internalsOf(other).policy;
}

test.each<[what: string, options: () => Partial<LimiterOptions>]>([
  ["nothing else", () => ({})],
  ["the same limits in a list", () => ({ limits: [hourly()] })],
  ["defaults written out", () => ({ maxQueue: 1_000, shadow: false, blockOn: "denial" })],
  ["undefined options", () => ({ storeTimeout: undefined, extends: undefined })],
])("createLimiter called again with %s returns the same limiter", (_, options) => {
  const make = startMaking();
  const first = make();
  expect(areOne(first, make(options()))).toBe(true);
});

test.each<[what: string, options: () => Partial<LimiterOptions>]>([
  ["a lease", () => ({ lease: { max: 5, ttl: "1s" } })],
  ["other options", () => ({ maxQueue: 5, storeTimeout: "1s" })],
  [
    "a list of blocks",
    () => ({ limits: fixedWindow({ limit: 5, window: "1h", block: ["1m", "2m"] }) }),
  ],
])("createLimiter called again with %s, as before, returns the same limiter", (_, options) => {
  const make = startMaking();
  expect(areOne(make(options()), make(options()))).toBe(true);
});

test.each<[what: string, options: Partial<LimiterOptions>]>([
  ["another maxQueue", { maxQueue: 5 }],
  ["another storeTimeout", { storeTimeout: "1s" }],
  ["shadow", { shadow: true }],
  ["a lease", { lease: { max: 5, ttl: "1s" } }],
])("a limiter with %s is another limiter with the same counts", async (_, options) => {
  const make = startMaking();
  const [first, other] = [make(), make(options)];
  expect(areOne(first, other)).toBe(false);
  await first.consume("u", { cost: 2 });
  expect((await other.peek("u", { cost: 0 })).remaining).toBe(3);
});

test("a limiter on another store, or with another name, is another limiter", () => {
  const first = startMaking()();
  expect(areOne(first, startMaking()())).toBe(false);
  expect(areOne(first, startMaking(internalsOf(first).policy.store)({ name: "web" }))).toBe(false);
});

test("equal limiters that extend the same limiter are the same limiter", () => {
  const make = startMaking();
  const child = (parent: Limiter) =>
    make({ name: "child", limits: gcra({ limit: 2, window: "1s" }), extends: parent });
  const first = child(make());
  expect(areOne(first, child(make()))).toBe(true);
  expect(areOne(first, child(make({ maxQueue: 7 })))).toBe(false);
});

test("a limiter's limits were copied: changing the object makes the policy different", () => {
  const make = startMaking();
  const limits = { ...hourly() };
  make({ limits });
  limits.limit = 6;
  expect(() => make({ limits })).toThrow(
    expect.objectContaining({ code: "HEADGATE_DUPLICATE_NAME" }),
  );
  expect(() => make()).not.toThrow();
});

test("invalid options are rejected even if the rest equals an existing limiter", () => {
  const make = startMaking();
  make();
  for (const options of [{ maxQueue: 0 }, { shadow: null }, { other: 1 }, { storeTimeout: "x" }]) {
    expect(() => make(options as never)).toThrow(
      expect.objectContaining({ code: "HEADGATE_INVALID_OPTION" }),
    );
  }
  expect(() => make({ limits: { ...hourly(), other: 1 } as never })).toThrow(
    expect.objectContaining({ code: "HEADGATE_INVALID_LIMIT" }),
  );
});

test("each handle of a limiter is closed separately, and the last one frees the name", async () => {
  const make = startMaking();
  const [first, second] = [make(), make()];
  await first.close();
  await first.close();
  await expect(first.consume("u")).rejects.toMatchObject({ code: "HEADGATE_CLOSED" });
  expect(await second.consume("u")).toMatchObject({ allowed: true, remaining: 4 });
  const limits = fixedWindow({ limit: 6, window: "1h" });
  expect(() => make({ limits })).toThrow();
  await second.close();
  expect(await make({ limits }).consume("u")).toMatchObject({ limit: 6 });
});

test("calls of all handles wait in one queue, and are rejected when their handle is closed", async () => {
  const make = startMaking();
  const limits = fixedWindow({ limit: 1, window: "1h" });
  const [first, second] = [make({ limits, maxQueue: 2 }), make({ limits, maxQueue: 2 })];
  await first.consume("u");
  const waiting = [first.wait("u"), second.wait("u", { timeout: "1h" })];
  await expect(first.wait("u")).rejects.toMatchObject({ code: "HEADGATE_QUEUE_FULL" });
  await first.close();
  await expect(waiting[0]).rejects.toMatchObject({ code: "HEADGATE_CLOSED" });
  expect((await second.peek("u")).allowed).toBe(false);
  await second.close();
  await expect(waiting[1]).rejects.toMatchObject({ code: "HEADGATE_CLOSED" });
});
