import { createLimiter, gcra, memoryStore } from "@headgate/core";
import { describe, expect, test } from "vitest";
import type { BreakerOptions } from "./breaker-options.ts";
import { createBreaker } from "./create-breaker.ts";

const store = () => memoryStore({ clock: () => 1_800_000_000_000 });

describe("breakers of one name on one store", () => {
  test("breakers of one name on one store share state and counts", async () => {
    const options = { name: "payments", store: store(), minimumCalls: 4, trialCalls: 1 };
    const [a, b] = [createBreaker(options), createBreaker(options)];
    for (let i = 0; i < 2; i += 1) {
      await a.record("failure");
      await b.record("failure");
    }
    expect(await a.snapshot()).toMatchObject({ state: "open", calls: 4 });
    expect(await b.snapshot()).toEqual(await a.snapshot());
    await b.reset();
    expect((await a.admit()).allowed).toBe(true);
  });

  test("each of two breakers of one name classifies calls by its own isFailure", async () => {
    const shared = { name: "payments", store: store() };
    const strict = createBreaker<number>({
      ...shared,
      isFailure: (call) => call.status === "rejected" || call.value >= 400,
    });
    const mild = createBreaker<number>({
      ...shared,
      isFailure: () => false,
      abortOutcome: "failure",
    });
    await strict.run(() => 404);
    await mild.run(() => 404);
    expect(await strict.snapshot()).toMatchObject({ calls: 2, failures: 1 });
  });

  test.each<[string, BreakerOptions]>([
    ["window", { window: "6m" }],
    ["a window of calls", { window: { calls: 300 } }],
    ["minimumSuccessRate", { minimumSuccessRate: 0.6 }],
    ["minimumCalls", { minimumCalls: 21 }],
    ["slowCall", { slowCall: "1s" }],
    ["openFor", { openFor: "31s" }],
    ["a growing openFor", { openFor: (opened) => (opened === 20 ? "31s" : "30s") }],
    ["trialCalls", { trialCalls: 6 }],
    ["trialCallTimeout", { trialCallTimeout: "31s" }],
    ["rampUp", { rampUp: "1m" }],
    ["flushInterval", { flushInterval: 0 }],
    ["storeTimeout", { storeTimeout: 99 }],
  ])("breakers of one name must have the same options: %s", (_, options) => {
    const shared = { name: "payments", store: store() };
    createBreaker(shared);
    expect(() => createBreaker({ ...shared, ...options })).toThrow(
      expect.objectContaining({
        code: "HEADGATE_DUPLICATE_NAME",
        message: expect.stringContaining('a breaker named "payments" with another policy'),
      }),
    );
  });

  test.each<[BreakerOptions, BreakerOptions, string]>([
    [{}, { window: "1m", minimumCalls: 5 }, '{} is not { window: "1m", minimumCalls: 5 };'],
    [
      { trialCalls: 1, abortOutcome: "failure" },
      { window: { calls: 9 } },
      "{ trialCalls: 1 } is not { window: { calls: 9 } };",
    ],
    [
      { openFor: (opened) => opened * 1_000 },
      { openFor: (opened) => (opened > 2 ? "1m" : "30s") },
      "10s, 11s, 12s, 13s, 14s, 15s, 16s, 17s, 18s, 19s, 20s is not { openFor: a function } where openFor gives 30s, 30s, 1m;",
    ],
  ])(
    "the error about two policies of one name quotes both as they were written: %j",
    (first, second, words) => {
      const shared = { name: "payments", store: store(), isFailure: () => false };
      createBreaker({ ...shared, ...first });
      expect(() => createBreaker({ ...shared, ...second })).toThrow(words);
    },
  );

  test.each<[string, BreakerOptions, BreakerOptions]>([
    ["slowCall", { slowCall: "1s" }, { slowCall: "2s" }],
    ["slowCallRate", { slowCall: "1s" }, { slowCall: "1s", slowCallRate: 0.5 }],
    ["window.calls", { window: { calls: 30 } }, { window: { calls: 31 } }],
  ])("breakers of one name must have the same %s if both set it", (_, first, second) => {
    const shared = { name: "payments", store: store() };
    createBreaker({ ...shared, ...first });
    expect(() => createBreaker({ ...shared, ...second })).toThrow(
      expect.objectContaining({ code: "HEADGATE_DUPLICATE_NAME" }),
    );
  });

  test("breakers of one name may write the same durations differently", () => {
    const shared = { name: "payments", store: store() };
    createBreaker({ ...shared, window: "5m", openFor: 30_000, minimumCalls: 20 });
    expect(() => createBreaker({ ...shared, window: 300_000, openFor: "30s" })).not.toThrow();
  });
});

describe("breaker names", () => {
  test("the same name on another store is another breaker", async () => {
    const [a, b] = [store(), store()].map((own) => createBreaker({ name: "payments", store: own }));
    await a?.forceOpen();
    expect((await b?.admit())?.allowed).toBe(true);
  });

  test("another name on the same store is another breaker", async () => {
    const shared = store();
    const payments = createBreaker({ name: "payments", store: shared });
    const mails = createBreaker({ name: "mails", store: shared, minimumCalls: 7 });
    await payments.forceOpen();
    expect((await mails.admit()).allowed).toBe(true);
  });

  test("a breaker and a limiter of one name share nothing", async () => {
    const shared = store();
    const breaker = createBreaker({ name: "payments", store: shared });
    const limiter = createLimiter({
      name: "payments",
      store: shared,
      limits: gcra({ limit: 1, window: "1m" }),
    });
    await breaker.for("default").forceOpen();
    expect((await limiter.consume("default")).allowed).toBe(true);
    expect((await limiter.consume("default")).allowed).toBe(false);
    await breaker.reset();
    expect((await breaker.admit()).allowed).toBe(true);
  });

  test.each([undefined, "", null, 5, "x".repeat(513)])(
    "a store requires a valid name: %j",
    (name) => {
      expect(() => createBreaker({ name, store: store() } as BreakerOptions)).toThrow(
        expect.objectContaining({
          code: "HEADGATE_INVALID_OPTION",
          message: expect.stringMatching(/^name must be a string of 1 to 512 characters/),
        }),
      );
    },
  );

  test.each(["", null, 5])("a breaker without a store rejects the name %j", (name) => {
    expect(() => createBreaker({ name } as BreakerOptions)).toThrow(
      expect.objectContaining({ code: "HEADGATE_INVALID_OPTION" }),
    );
  });

  test("breakers without a store need no name and share nothing", async () => {
    const [a, b] = [createBreaker(), createBreaker({ minimumCalls: 5 })];
    expect(a.name).toBe("breaker");
    expect(createBreaker({ name: "payments" }).name).toBe("payments");
    await a.forceOpen();
    expect((await b.admit()).allowed).toBe(true);
  });

  test("a createBreaker call that throws does not claim the name", () => {
    const shared = { name: "payments", store: store() };
    expect(() => createBreaker({ ...shared, trialCalls: 0 })).toThrow(/trialCalls/);
    expect(() => createBreaker({ ...shared, trialCalls: 7 })).not.toThrow();
  });

  test.each(["__proto__", "constructor", "a:b", "{a}", "naïve 💧", "x".repeat(512)])(
    "the name %s works like any other",
    async (name) => {
      const shared = store();
      const breaker = createBreaker({ name, store: shared });
      const neighbour = createBreaker({ name: `${name.slice(1)}:`, store: shared });
      expect(breaker.name).toBe(name);
      await breaker.forceOpen();
      expect((await breaker.admit()).allowed).toBe(false);
      expect((await neighbour.admit()).allowed).toBe(true);
    },
  );
});
