import { describe, expect, test } from "vitest";
import { gcra } from "../algorithms/gcra.ts";
import { slidingLog } from "../algorithms/sliding-log.ts";
import { formatReceived } from "../errors.ts";
import { memoryStore } from "../store/memory-store.ts";
import { createLimiter } from "./create-limiter.ts";
import type { LimiterOptions } from "./limiter.ts";
import { claimName } from "./names.ts";

const perMinute = gcra({ limit: 2, window: "1m" });
const other = gcra({ limit: 3, window: "1m" });

describe("a name", () => {
  test.each([undefined, "", null, 5, {}, "x".repeat(513)])("cannot be %s with a store", (name) => {
    const options = { name, limits: perMinute, store: memoryStore() } as LimiterOptions;
    expect(() => createLimiter(options)).toThrow(
      expect.objectContaining({
        code: "HEADGATE_INVALID_OPTION",
        message: expect.stringContaining(`got ${formatReceived(name)}`),
      }),
    );
  });

  test.each(["", null, 5])("cannot be %s without a store either", (name) => {
    expect(() => createLimiter({ name, limits: perMinute } as LimiterOptions)).toThrow(
      expect.objectContaining({ code: "HEADGATE_INVALID_OPTION" }),
    );
  });

  test("is not needed without a store, and two limiters without one share nothing", async () => {
    const [a, b] = [createLimiter({ limits: perMinute }), createLimiter({ limits: perMinute })];
    await a.consume("u", { cost: 2 });
    expect((await a.consume("u")).allowed).toBe(false);
    expect((await b.consume("u")).allowed).toBe(true);
  });

  test("with the same policy on the same store is the same limiter", async () => {
    const store = memoryStore();
    const a = createLimiter({ name: "api", limits: perMinute, store });
    const b = createLimiter({
      name: "api",
      limits: { algorithm: "gcra", limit: 2, window: 60_000, name: "told otherwise" },
      store,
    });
    await a.consume("u");
    await b.consume("u");
    expect((await a.consume("u")).allowed).toBe(false);
    expect(await b.reset("u")).toBe(true);
    expect((await a.consume("u")).allowed).toBe(true);
  });

  test("with the same limits in another order is the same limiter", async () => {
    const store = memoryStore();
    const a = createLimiter({ name: "api", limits: [perMinute, slidingLog(other)], store });
    const b = createLimiter({ name: "api", limits: [slidingLog(other), perMinute], store });
    await a.consume("u", { cost: 2 });
    const { limits } = await b.consume("u");
    expect(limits.map(({ name, remaining }) => [name, remaining])).toEqual([
      ["3-per-1m", 1],
      ["2-per-1m", 0],
    ]);
  });

  test.each([
    ["a limit", other],
    ["an algorithm", slidingLog({ limit: 2, window: "1m" })],
    ["a dimension", gcra({ limit: 2, window: "1m", per: "ip" })],
    ["one limit more", [perMinute, other]],
  ])("with another policy is refused: %s", (_, limits) => {
    const store = memoryStore();
    createLimiter({ name: "api", limits: perMinute, store });
    expect(() => createLimiter({ name: "api", limits, store })).toThrow(
      expect.objectContaining({
        code: "HEADGATE_DUPLICATE_NAME",
        message: expect.stringContaining('"api"'),
      }),
    );
  });

  test("with another policy on another store is another limiter", () => {
    createLimiter({ name: "api", limits: perMinute, store: memoryStore() });
    expect(() => createLimiter({ name: "api", limits: other, store: memoryStore() })).not.toThrow();
  });

  test("is free again when the last limiter of it was closed, however often one was", async () => {
    const store = memoryStore();
    const a = createLimiter({ name: "api", limits: perMinute, store });
    const b = createLimiter({ name: "api", limits: perMinute, store });
    await a.close();
    await a.close();
    expect(() => createLimiter({ name: "api", limits: other, store })).toThrow(/another policy/);
    await b.close();
    expect(() => createLimiter({ name: "api", limits: other, store })).not.toThrow();
  });

  test("given back twice by one is not given back for another", () => {
    const store = memoryStore();
    const [one] = [claimName(store, "api", "policy"), claimName(store, "api", "policy")];
    one.release();
    one.release();
    expect(() => claimName(store, "api", "another")).toThrow(/another policy/);
  });

  test("is not kept by a limiter that could not be made", () => {
    const store = memoryStore();
    const make = (options: object) => () =>
      createLimiter({ name: "api", store, ...options } as LimiterOptions);
    expect(make({ limits: [] })).toThrow(/at least one/);
    expect(make({ limits: perMinute, maxQueue: 0 })).toThrow(/maxQueue/);
    expect(make({ limits: perMinute, extends: {} })).toThrow(/createLimiter/);
    expect(make({ limits: other })).not.toThrow();
  });

  test.each(["__proto__", "constructor", "toString", "a:b", "{a}", "naïve 💧", "x".repeat(512)])(
    "%s is a name like any other",
    async (name) => {
      const store = memoryStore();
      const limiter = createLimiter({ name, limits: perMinute, store });
      const neighbour = createLimiter({ name: `${name.slice(1)}:`, limits: perMinute, store });
      await limiter.consume("u", { cost: 2 });
      expect((await limiter.consume("u")).allowed).toBe(false);
      expect((await neighbour.consume("u")).allowed).toBe(true);
      expect(() => createLimiter({ name, limits: other, store })).toThrow(/another policy/);
    },
  );

  test("is registered where every copy of this package in the process finds it", () => {
    const store = memoryStore();
    createLimiter({ name: "api", limits: perMinute, store });
    const registry = (globalThis as never)[Symbol.for("@headgate/core/1.limiter-names")] as WeakMap<
      object,
      Map<string, unknown>
    >;
    expect([...(registry.get(store.owner)?.keys() ?? [])]).toEqual(["memory:api"]);
  });
});
