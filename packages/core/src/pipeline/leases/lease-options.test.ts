import { expect, test } from "vitest";
import { fixedWindow } from "../../algorithms/fixed-window.ts";
import { gcra } from "../../algorithms/gcra.ts";
import { createLimiter } from "../../limiter/create-limiter.ts";
import { memoryStore } from "../../store/memory-store.ts";
import { readLeaseOption } from "./lease-options.ts";

const limits = gcra({ limit: 1_000, window: "1s" });

test("leasing is off by default", () => {
  expect(readLeaseOption(undefined)).toBeUndefined();
  expect(readLeaseOption(false)).toBeUndefined();
});

test.each([
  [
    { max: 2, ttl: 1 },
    { max: 2, ttl: 1_000 },
  ],
  [
    { max: 1_000_000, ttl: "1m" as const },
    { max: 1_000_000, ttl: 60_000_000 },
  ],
])("the lease option accepts %j", (lease, rule) => {
  expect(readLeaseOption(lease)).toMatchObject(rule);
});

test.each([
  [true, "lease must be", "true"],
  [null, "lease must be", "null"],
  [100, "lease must be", "100"],
  [[], "lease must be", "[]"],
  [{ ttl: "1s" }, "lease.max must be", "undefined"],
  [{ max: 1, ttl: "1s" }, "lease.max must be", "1"],
  [{ max: 2.5, ttl: "1s" }, "lease.max must be", "2.5"],
  [{ max: "9", ttl: "1s" }, "lease.max must be", '"9"'],
  [{ max: 1_000_001, ttl: "1s" }, "lease.max must be", "1000001"],
  [{ max: 9 }, "lease.ttl must be", "undefined"],
  [{ max: 9, ttl: 0 }, "lease.ttl must be", "0"],
  [{ max: 9, ttl: "soon" }, "lease.ttl must be", '"soon"'],
  [{ max: 9, ttl: "61s" }, "lease.ttl must be", '"61s"'],
  [{ max: 9, ttl: "1s", min: 1 }, "lease must hold", '"min"'],
])("the lease option rejects %j with the received value in the message", (lease, rule, got) => {
  const make = () => createLimiter({ limits, lease: lease as never });
  expect(make).toThrow(expect.objectContaining({ code: "HEADGATE_INVALID_OPTION" }));
  expect(make).toThrow(new RegExp(`${rule}.*got ${got.replace(/[[\]]/g, "\\$&")}`));
});

test("lease is rejected together with a limit that blocks", () => {
  const lease = { max: 10, ttl: "1s" } as const;
  const blocking = fixedWindow({ limit: 10, window: "1d", block: "1h" });
  for (const limits of [blocking, [gcra({ limit: 10, window: "1s" }), blocking]]) {
    expect(() => createLimiter({ limits, lease })).toThrow(
      expect.objectContaining({
        code: "HEADGATE_INVALID_OPTION",
        message: expect.stringContaining('the limit "10-per-1d" has block'),
      }),
    );
  }
});

test("lease is rejected for limits of several dimensions", () => {
  const lease = { max: 10, ttl: "1s" } as const;
  const several = [limits, fixedWindow({ limit: 9, window: "1m", per: "tenant" })] as const;
  expect(() => createLimiter({ limits: several, lease })).toThrow(
    /HEADGATE_INVALID_OPTION|count by default, tenant/,
  );
  const one = [limits, fixedWindow({ limit: 9, window: "1m" })];
  expect(() => createLimiter({ limits: one, lease })).not.toThrow();
});

test("lease is rejected for a limiter that extends another one", async () => {
  const lease = { max: 10, ttl: "1s" } as const;
  const store = memoryStore();
  const parent = createLimiter({ name: "a", limits, store, lease });
  expect(() => createLimiter({ name: "b", limits, store, extends: parent, lease })).toThrow(
    expect.objectContaining({ code: "HEADGATE_INVALID_OPTION" }),
  );
  await createLimiter({ name: "b", limits, store, extends: parent }).close();
});

test("lease has no effect on a limiter in memory", async () => {
  const limiter = createLimiter({ limits, lease: { max: 10, ttl: "1s" } });
  for (let i = 0; i < 5; i += 1) expect((await limiter.consume("ann")).source).toBe("store");
});
