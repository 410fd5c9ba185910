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
])("a limiter made again with %s is the same one", (_, options) => {
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
])("also with %s, where it had the same before", (_, options) => {
  const make = startMaking();
  expect(areOne(make(options()), make(options()))).toBe(true);
});

test.each<[what: string, options: Partial<LimiterOptions>]>([
  ["another maxQueue", { maxQueue: 5 }],
  ["another storeTimeout", { storeTimeout: "1s" }],
  ["shadow", { shadow: true }],
  ["a lease", { lease: { max: 5, ttl: "1s" } }],
])("one with %s is another, with the same counts", async (_, options) => {
  const make = startMaking();
  const [first, other] = [make(), make(options)];
  expect(areOne(first, other)).toBe(false);
  await first.consume("u", { cost: 2 });
  expect((await other.peek("u", { cost: 0 })).remaining).toBe(3);
});

test("one on another store, or with another name, is another", () => {
  const first = startMaking()();
  expect(areOne(first, startMaking()())).toBe(false);
  expect(areOne(first, startMaking(internalsOf(first).policy.store)({ name: "web" }))).toBe(false);
});

test("of limiters that extend others, those of the same one are one", () => {
  const make = startMaking();
  const child = (parent: Limiter) =>
    make({ name: "child", limits: gcra({ limit: 2, window: "1s" }), extends: parent });
  const first = child(make());
  expect(areOne(first, child(make()))).toBe(true);
  expect(areOne(first, child(make({ maxQueue: 7 })))).toBe(false);
});

test("limits that were changed after the limiter was made are not the same", () => {
  const make = startMaking();
  const limits = { ...hourly() };
  make({ limits });
  limits.limit = 6;
  expect(() => make({ limits })).toThrow(
    expect.objectContaining({ code: "HEADGATE_DUPLICATE_NAME" }),
  );
  expect(() => make()).not.toThrow();
});

test("what is wrong is refused, also where everything else is the same", () => {
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

test("each is closed by itself, and the last one frees the name", async () => {
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

test("who waits by one of them is first come, first served among all, and rejected when that one closes", async () => {
  const make = startMaking();
  const limits = fixedWindow({ limit: 1, window: "1h" });
  const [first, second] = [make({ limits, maxQueue: 2 }), make({ limits, maxQueue: 2 })];
  await first.consume("u");
  const waiting = [first.wait("u"), second.wait("u", { timeout: "1h" })];
  await expect(first.wait("u")).rejects.toMatchObject({ code: "HEADGATE_QUEUE_FULL" });
  await first.close();
  await expect(waiting[0]).rejects.toMatchObject({ code: "HEADGATE_CLOSED" });
  await second.reset("u");
  await second.close();
  await expect(waiting[1]).rejects.toMatchObject({ code: "HEADGATE_CLOSED" });
});
