import { memoryStore } from "@headgate/core";
import type { CountingStore, Operation } from "@headgate/core/internal";
import { requireStore } from "@headgate/core/internal";
import { expect, test } from "vitest";
import { brandStore } from "../../core/src/store/store.ts";
import { createBreaker } from "./create-breaker.ts";

/** A breaker in memory, and the number of operations since the last call of `operations`. */
function countOperations(options = {}) {
  let now = 1_800_000_000_000;
  const memory = requireStore(memoryStore({ clock: () => now }));
  let count = 0;
  const store = brandStore({
    ...memory,
    runSync<Call, Reply>(operation: Operation<Call, Reply>, call: Call) {
      count += 1;
      return (memory.runSync as NonNullable<CountingStore["runSync"]>)(operation, call);
    },
  });
  const breaker = createBreaker({ name: "payments", store, minimumCalls: 4, ...options });
  return {
    breaker,
    advance(ms: number) {
      now += ms;
    },
    operations() {
      const total = count;
      count = 0;
      return total;
    },
  };
}

test.each([{}, { flushInterval: 0 }, { flushInterval: "1m" }])(
  "a breaker in memory does not read a closed target again: %j",
  async (options) => {
    const { breaker, advance, operations } = countOperations(options);
    await breaker.admit();
    expect(operations()).toBe(1);
    for (let hour = 0; hour < 48; hour += 1) {
      advance(3_600_000);
      expect((await breaker.admit()).allowed).toBe(true);
    }
    expect(operations()).toBe(0);
    // Each outcome is stored at once, and its reply brings the new state.
    for (let i = 0; i < 4; i += 1) await breaker.record("failure");
    expect(operations()).toBe(4);
    for (let i = 0; i < 10; i += 1) expect((await breaker.admit()).allowed).toBe(false);
    expect(operations()).toBe(0);
  },
);

test("a call that is aborted before it starts does not read the store", async () => {
  const { breaker, operations } = countOperations();
  const signal = AbortSignal.abort(new Error("gone"));
  await expect(breaker.run(() => 1, { signal })).rejects.toThrow("gone");
  expect(operations()).toBe(0);
});

test("a call that is aborted while it is admitted releases only a trial call's lease", async () => {
  const { breaker, advance, operations } = countOperations();
  async function giveUp() {
    operations();
    const controller = new AbortController();
    const running = breaker.run(() => 1, { signal: controller.signal });
    controller.abort(new Error("gone"));
    await expect(running).rejects.toThrow("gone");
    return operations();
  }
  // The call is allowed.
  expect(await giveUp()).toBe(1);
  await breaker.forceOpen();
  advance(1_000);
  // The call is rejected.
  expect(await giveUp()).toBe(1);
  await breaker.reset();
  for (let i = 0; i < 4; i += 1) await breaker.record("failure");
  advance(30_000);
  expect(await giveUp()).toBe(2);
});

test("every method rejects if the store's clock returns no time", async () => {
  let now = 1_800_000_000_000;
  const store = requireStore(memoryStore({ clock: () => now }));
  const breaker = createBreaker({ name: "payments", store });
  const permit = await breaker.admit();
  now = Number.NaN;
  const failure = { code: "HEADGATE_INVALID_OPTION", message: expect.stringContaining("clock") };
  await expect(breaker.for("eu").run(() => 1)).rejects.toMatchObject(failure);
  await expect(breaker.snapshot()).rejects.toMatchObject(failure);
  await expect(breaker.record("success")).rejects.toMatchObject(failure);
  await expect(breaker.forceOpen()).rejects.toMatchObject(failure);
  await expect(permit.record("success")).rejects.toMatchObject(failure);
  // A call ends even if its outcome cannot be stored.
  expect(await breaker.run(() => "fine").catch((error: object) => error)).toSatisfy(
    (answer: unknown) => answer === "fine" || (answer as { code?: string }).code === failure.code,
  );
});
