import { describe, expect, test } from "vitest";
import { fixedWindow } from "../algorithms/fixed-window.ts";
import { gcra } from "../algorithms/gcra.ts";
import { slidingLog } from "../algorithms/sliding-log.ts";
import { formatReceived } from "../common/errors.ts";
import type { Policy } from "../common/policy.ts";
import { createLimiter } from "../limiter/create-limiter.ts";
import type { LimiterOptions } from "../limiter/limiter.ts";
import { memoryStore } from "../store/memory-store.ts";
import type { Store } from "../store/store.ts";
import { requireStore } from "../store/store.ts";
import { claimName } from "./names.ts";

const perMinute = gcra({ limit: 2, window: "1m" });
const other = gcra({ limit: 3, window: "1m" });

function errorOf(make: () => unknown): Error {
  try {
    make();
  } catch (error) {
    return error as Error;
  }
  throw new Error("nothing was thrown");
}

describe("the name of a limiter", () => {
  test.each([undefined, "", null, 5, {}, "x".repeat(513)])(
    "a limiter with a store cannot have the name %s",
    (name) => {
      const options = {
        name,
        limits: perMinute,
        store: requireStore(memoryStore()),
      } as LimiterOptions;
      expect(() => createLimiter(options)).toThrow(
        expect.objectContaining({
          code: "HEADGATE_INVALID_OPTION",
          message: expect.stringContaining(`got ${formatReceived(name)}`),
        }),
      );
    },
  );

  test.each(["", null, 5])("a limiter without a store cannot have the name %s", (name) => {
    expect(() => createLimiter({ name, limits: perMinute } as LimiterOptions)).toThrow(
      expect.objectContaining({ code: "HEADGATE_INVALID_OPTION" }),
    );
  });

  test("limiters without a store need no name and share no counters", async () => {
    const [a, b] = [createLimiter({ limits: perMinute }), createLimiter({ limits: perMinute })];
    await a.consume("u", { cost: 2 });
    expect((await a.consume("u")).allowed).toBe(false);
    expect((await b.consume("u")).allowed).toBe(true);
  });

  test("two limiters with one name and policy on one store share their counters", async () => {
    const store = requireStore(memoryStore());
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

  test("the order of the limits does not matter for sharing counters by name", async () => {
    const store = requireStore(memoryStore());
    const three = fixedWindow({ limit: 3, window: "1m" });
    const a = createLimiter({ name: "api", limits: [perMinute, three], store });
    const b = createLimiter({ name: "api", limits: [three, perMinute], store });
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
    ["one limit more", [perMinute, gcra({ limit: 9, window: "1h" })]],
  ])("a name that is in use with another policy is rejected: %s differs", (_, limits) => {
    const store = requireStore(memoryStore());
    createLimiter({ name: "api", limits: perMinute, store });
    expect(() => createLimiter({ name: "api", limits, store })).toThrow(
      expect.objectContaining({
        code: "HEADGATE_DUPLICATE_NAME",
        message: expect.stringContaining('"api"'),
      }),
    );
  });

  test("the error for a duplicate name shows both policies as they were configured", () => {
    const message = (first: Policy, second: Policy): string => {
      const store = requireStore(memoryStore());
      createLimiter({ name: "api", limits: first, store });
      return errorOf(() => createLimiter({ name: "api", limits: second, store })).message;
    };
    expect(
      message(fixedWindow({ limit: 30, window: "1m" }), fixedWindow({ limit: 60, window: "1m" })),
    ).toBe(
      'a limiter named "api" with another policy exists on this store: fixedWindow({ limit: 30, window: "1m" }) is not ' +
        'fixedWindow({ limit: 60, window: "1m" }); give one of them another name, or close the first before you make the second (with hot reload: use hotReload)' +
        "; for limits that differ by customer, pass limits with each call: consume(subject, { limits }), in HTTP perRequest(...)",
    );
    expect(
      message({ algorithm: "gcra", limit: 2, window: 60_000, burst: undefined }, [
        perMinute,
        slidingLog({ limit: 5, window: "1h", name: "log", per: "ip" }),
      ]),
    ).toContain(
      'gcra({ limit: 2, window: 60000 }) is not [gcra({ limit: 2, window: "1m" }), ' +
        'slidingLog({ limit: 5, window: "1h", name: "log", per: "ip" })];',
    );
  });

  test("the error for a duplicate name stays below 1,000 characters, however long the policies are", () => {
    const many = (limit: number) =>
      Array.from({ length: 100 }, (_, i) => gcra({ limit, window: "1m", name: `limit ${i}` }));
    const store = requireStore(memoryStore());
    const name = "n".repeat(512);
    createLimiter({ name, limits: many(1), store });
    const { message } = errorOf(() => createLimiter({ name, limits: many(2), store }));
    expect(message.length).toBeLessThan(1_000);
    expect(message).toContain('... is not [gcra({ limit: 2, window: "1m", name: "limit 0" }), ');
  });

  test("one name may have different policies on different stores", () => {
    createLimiter({ name: "api", limits: perMinute, store: requireStore(memoryStore()) });
    expect(() =>
      createLimiter({ name: "api", limits: other, store: requireStore(memoryStore()) }),
    ).not.toThrow();
  });

  test("a name is free again once every limiter that uses it is closed, even if one is closed twice", async () => {
    const store = requireStore(memoryStore());
    const a = createLimiter({ name: "api", limits: perMinute, store });
    const b = createLimiter({ name: "api", limits: perMinute, store });
    await a.close();
    await a.close();
    expect(() => createLimiter({ name: "api", limits: other, store })).toThrow(/another policy/);
    await b.close();
    expect(() => createLimiter({ name: "api", limits: other, store })).not.toThrow();
  });

  test("releasing a claim twice does not release another limiter's claim", () => {
    const store = requireStore(memoryStore());
    const policy = { canonical: "policy", displayText: "a policy" };
    const [one] = [claimName(store, "api", policy), claimName(store, "api", policy)];
    one.release();
    one.release();
    const another = { canonical: "another", displayText: "another one" };
    expect(() => claimName(store, "api", another)).toThrow(/another policy/);
  });

  test("a limiter that could not be created does not claim its name", () => {
    const store: Store = memoryStore();
    const make = (options: object) => () =>
      createLimiter({ name: "api", store, ...options } as LimiterOptions);
    expect(make({ limits: [] })).toThrow(/at least one/);
    expect(make({ limits: perMinute, maxQueue: 0 })).toThrow(/maxQueue/);
    expect(make({ limits: perMinute, extends: {} })).toThrow(/createLimiter/);
    expect(make({ limits: other })).not.toThrow();
  });

  test.each(["__proto__", "constructor", "toString", "a:b", "{a}", "naïve 💧", "x".repeat(512)])(
    "%s is a valid limiter name",
    async (name) => {
      const store = requireStore(memoryStore());
      const limiter = createLimiter({ name, limits: perMinute, store });
      const neighbour = createLimiter({ name: `${name.slice(1)}:`, limits: perMinute, store });
      await limiter.consume("u", { cost: 2 });
      expect((await limiter.consume("u")).allowed).toBe(false);
      expect((await neighbour.consume("u")).allowed).toBe(true);
      expect(() => createLimiter({ name, limits: other, store })).toThrow(/another policy/);
    },
  );

  test("names are registered where every copy of the package in the process finds them", () => {
    const store = requireStore(memoryStore());
    createLimiter({ name: "api", limits: perMinute, store });
    const registry = (globalThis as never)[Symbol.for("@headgate/core/2.state")] as WeakMap<
      object,
      { names: Map<string, unknown> }
    >;
    expect([...(registry.get(store.owner)?.names.keys() ?? [])]).toEqual(["limiter memory:api"]);
  });
});
