import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { fixedWindow } from "../algorithms/fixed-window.ts";
import { gcra } from "../algorithms/gcra.ts";
import { slidingLog } from "../algorithms/sliding-log.ts";
import { slidingWindow } from "../algorithms/sliding-window.ts";
import { tokenBucket } from "../algorithms/token-bucket.ts";
import { formatReceived } from "../common/errors.ts";
import type { Limit } from "../common/policy.ts";
import { createLimiter } from "../limiter/create-limiter.ts";
import { memoryStore } from "./memory-store.ts";
import type { MemoryTable } from "./memory-table.ts";
import type { Clock } from "./store.ts";
import { requireStore } from "./store.ts";

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

const MINUTE = 60_000;

function limiterWith(limits: Limit, options: { maxKeys?: number; clock?: Clock } = {}) {
  return createLimiter({ name: "test", limits, store: requireStore(memoryStore(options)) });
}

describe("memoryStore refuses", () => {
  test.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 24 + 1, "100", null, 10n])(
    "maxKeys of %s",
    (maxKeys) => {
      expect(() => requireStore(memoryStore({ maxKeys: maxKeys as number }))).toThrow(
        expect.objectContaining({
          code: "HEADGATE_INVALID_OPTION",
          message: expect.stringContaining(`got ${formatReceived(maxKeys)}`),
        }),
      );
    },
  );

  test.each([5, "now", null, {}, new Date(0)])("a clock that is %s", (clock) => {
    expect(() => requireStore(memoryStore({ clock: clock as unknown as Clock }))).toThrow(
      expect.objectContaining({
        code: "HEADGATE_INVALID_OPTION",
        message: expect.stringContaining(formatReceived(clock)),
      }),
    );
  });

  test.each([null, 5, "x", [], () => 1])("options that are %s", (options) => {
    expect(() => requireStore(memoryStore(options as never))).toThrow(
      expect.objectContaining({
        code: "HEADGATE_INVALID_OPTION",
        message: expect.stringContaining(formatReceived(options)),
      }),
    );
  });

  test("an option it does not have", () => {
    expect(() => requireStore(memoryStore({ maxkeys: 5 } as never))).toThrow(
      /unknown option "maxkeys".*maxKeys/,
    );
  });

  test.each([Number.NaN, -1, Number.POSITIVE_INFINITY, "5 o'clock", 1e300])(
    "a request when its clock says %s",
    async (time) => {
      const limiter = limiterWith(gcra({ limit: 1, window: "1m" }), {
        clock: () => time as number,
      });
      await expect(limiter.consume("a")).rejects.toMatchObject({ code: "HEADGATE_INVALID_OPTION" });
    },
  );
});

test("maxKeys from 1 to 2^24 is accepted", async () => {
  for (const maxKeys of [1, 2 ** 24]) {
    const limiter = limiterWith(gcra({ limit: 1, window: "1m" }), { maxKeys });
    expect((await limiter.consume("a")).allowed).toBe(true);
    expect((await limiter.consume("a")).allowed).toBe(false);
  }
});

test("a clock that steps back neither lengthens a wait nor grants more units", async () => {
  let now = 1_000_000_000;
  const limiter = limiterWith(gcra({ limit: 1, window: "1m" }), { clock: () => now });
  await limiter.consume("a");
  now += 20_000;
  expect((await limiter.consume("a")).retryAfterMs).toBe(40_000);
  now -= 3_600_000;
  expect((await limiter.consume("a")).retryAfterMs).toBe(40_000);
  now += 40_000;
  expect((await limiter.consume("a")).allowed).toBe(true);
  now -= 1;
  expect((await limiter.consume("a")).retryAfterMs).toBe(MINUTE);
});

test("the default clock is the process's", async () => {
  const limiter = limiterWith(gcra({ limit: 1, window: 30 }));
  const before = performance.now();
  let denied = 0;
  while (!(await limiter.wait("a")).allowed) denied += 1;
  await limiter.wait("a");
  expect(denied).toBe(0);
  expect(performance.now() - before).toBeGreaterThanOrEqual(29);
});

describe("a full memory store", () => {
  const login = fixedWindow({ limit: 5, window: "15m" });

  async function spend(limiter: ReturnType<typeof limiterWith>, subject: string, times: number) {
    for (let i = 0; i < times; i += 1) await limiter.consume(subject);
  }

  test("a flood of one-time keys does not evict an exhausted subject", async () => {
    const limiter = limiterWith(login, { maxKeys: 100, clock: () => MINUTE });
    await spend(limiter, "attacker", 5);
    for (let i = 0; i < 10_000; i += 1) await limiter.consume(`one-shot-${i}`);
    expect((await limiter.consume("attacker")).allowed).toBe(false);
  });

  test("an exhausted subject is evicted only after (maxKeys - 1) others are exhausted, and one more request", async () => {
    let now = MINUTE;
    const limiter = limiterWith(login, { maxKeys: 100, clock: () => now });
    await spend(limiter, "attacker", 5);
    now += 1; // what is spent later resets later: among equals the attacker's counter is the first to go
    for (let i = 0; i < 98; i += 1) await spend(limiter, `other-${i}`, 5);
    for (let i = 0; i < 1_000; i += 1) await spend(limiter, `four-of-five-${i}`, 4);
    expect((await limiter.peek("attacker")).allowed).toBe(false);
    await spend(limiter, "the last of the others", 5);
    expect((await limiter.peek("attacker")).allowed).toBe(false);
    await spend(limiter, "one more", 1);
    expect((await limiter.peek("attacker")).allowed).toBe(true);
  });

  test("evictions counts evicted subjects that had not recovered", async () => {
    let now = MINUTE;
    const store = requireStore(memoryStore({ maxKeys: 2, clock: () => now }));
    const limiter = createLimiter({ name: "evicted", limits: login, store });
    for (const subject of ["a", "b"]) await limiter.consume(subject);
    expect(store.evictions).toBe(0);
    await limiter.consume("c");
    expect(store.evictions).toBe(1);
    now += 15 * MINUTE;
    for (const subject of ["d", "e"]) await limiter.consume(subject);
    expect(store.evictions).toBe(1);
  });

  test("expired subjects are evicted before others", async () => {
    let now = MINUTE;
    const limiter = limiterWith(login, { maxKeys: 100, clock: () => now });
    for (let i = 0; i < 50; i += 1) await spend(limiter, `old-${i}`, 5);
    now += 14 * MINUTE;
    for (let i = 0; i < 50; i += 1) await limiter.consume(`fresh-${i}`);
    now += MINUTE;
    for (let i = 0; i < 50; i += 1) await limiter.consume(`new-${i}`);
    const fresh = await Promise.all(
      Array.from({ length: 50 }, (_, i) => limiter.peek(`fresh-${i}`)),
    );
    expect(fresh.map(({ remaining }) => remaining)).toEqual(new Array(50).fill(3));
  });

  test("more clients than fit take bounded memory, and none waits for a sweep", async () => {
    const limiter = limiterWith(gcra({ limit: 100, window: "1h" }), { maxKeys: 50_000 });
    const usedMemory = () => {
      collectGarbage();
      const { heapUsed, external } = process.memoryUsage();
      return heapUsed + external;
    };
    const before = usedMemory();
    let longest = 0;
    let last = performance.now();
    for (let i = 0; i < 200_000; i += 1) {
      await limiter.consume(`198.51.${i >> 8}.${i & 255}`);
      const now = performance.now();
      longest = Math.max(longest, now - last);
      last = now;
    }
    const bytes = (usedMemory() - before) / 50_000;
    expect(bytes).toBeLessThan(260);
    expect(bytes).toBeGreaterThan(100);
    expect(longest).toBeLessThan(500);
    expect((await limiter.peek("198.51.0.0")).remaining).toBe(99);
  }, 60_000);

  test("log entries are counted until they expire, whatever their cost", async () => {
    let now = MINUTE;
    const store = requireStore(memoryStore({ clock: () => now }));
    const limits = [
      slidingLog({ limit: 1_000, window: "1m" }),
      slidingLog({ limit: 5_000, window: "1h" }),
    ];
    const limiter = createLimiter({ name: "test", limits, store });
    const table = store.owner as MemoryTable;
    for (let i = 0; i < 10; i += 1) await limiter.consume("a", { cost: 100 });
    expect((await limiter.consume("a")).allowed).toBe(false);
    await limiter.consume("b");
    expect(table.logEntries).toBe(2 * 10 + 2 * 1);
    now += MINUTE;
    await limiter.consume("a");
    expect(table.logEntries).toBe(1 + 11 + 2);
    await limiter.reset("a");
    expect(table.logEntries).toBe(2);
  });
});

describe.each([
  gcra({ limit: 2, window: "30d" }),
  tokenBucket({ capacity: 2, refill: 2, every: "30d" }),
  fixedWindow({ limit: 2, window: "30d" }),
  slidingWindow({ limit: 2, window: "30d" }),
  slidingLog({ limit: 2, window: "30d" }),
])("$algorithm over 30 days", (limits) => {
  test("a limit over 30 days applies, and sets no timer", async () => {
    const limiter = limiterWith(limits);
    const setTimer = vi.spyOn(globalThis, "setTimeout");
    onTestFinished(() => setTimer.mockRestore());
    expect((await limiter.consume("a")).allowed).toBe(true);
    expect((await limiter.consume("a")).allowed).toBe(true);
    expect((await limiter.consume("a")).allowed).toBe(false);
    expect(setTimer).not.toHaveBeenCalled();
  });
});

describe("clear", () => {
  const kinds: readonly (readonly [string, Limit])[] = [
    ["gcra", gcra({ limit: 2, window: "1h" })],
    ["tokenBucket", tokenBucket({ capacity: 2, refill: 1, every: "1h" })],
    ["fixedWindow", fixedWindow({ limit: 2, window: "1h" })],
    ["slidingWindow", slidingWindow({ limit: 2, window: "1h", buckets: 4 })],
    ["slidingLog", slidingLog({ limit: 2, window: "1h" })],
  ];

  test.each(kinds)("clear forgets all subjects of a limiter of %s", async (_, limits) => {
    const store = requireStore(memoryStore({ clock: () => MINUTE }));
    const limiter = createLimiter({ name: "test", limits, store });
    for (const subject of ["a", "b"]) await limiter.consume(subject, { cost: 2 });
    store.clear();
    for (const subject of ["a", "b"]) {
      expect((await limiter.peek(subject, { cost: 0 })).remaining).toBe(2);
      expect((await limiter.consume(subject, { cost: 2 })).allowed).toBe(true);
      expect((await limiter.consume(subject)).allowed).toBe(false);
    }
    expect(await limiter.reset("a")).toBe(true);
  });

  test.each(kinds)("a refund after clear does not affect new counters of %s", async (_, limits) => {
    let now = MINUTE;
    const store = requireStore(memoryStore({ clock: () => now }));
    const limiter = createLimiter({ name: "test", limits, store });
    const before = await limiter.consume("a");
    store.clear();
    expect(await limiter.refund(before)).toBe(false);
    const again = await limiter.consume("a");
    const old = await limiter.consume("a");
    store.clear();
    await limiter.consume("a", { cost: 2 });
    now += 1;
    for (const decision of [again, old]) expect(await limiter.refund(decision)).toBe(false);
    expect((await limiter.peek("a")).allowed).toBe(false);
  });

  test("clear applies to all limiters on the store, which keep their names, and to no others", async () => {
    const store = requireStore(memoryStore());
    const limits = fixedWindow({ limit: 1, window: "1h" });
    const [one, same, second, other] = [
      createLimiter({ name: "one", limits, store }),
      createLimiter({ name: "one", limits, store }),
      createLimiter({ name: "two", limits, store }),
      createLimiter({ name: "one", limits, store: requireStore(memoryStore()) }),
    ];
    for (const limiter of [one, second, other]) await limiter.consume("a");
    store.clear();
    expect((await other.consume("a")).allowed).toBe(false);
    expect((await one.consume("a")).allowed).toBe(true);
    expect((await same.consume("a")).allowed).toBe(false);
    expect((await second.consume("a")).allowed).toBe(true);
    const another = fixedWindow({ limit: 1, window: "2h" });
    expect(() => createLimiter({ name: "one", limits: another, store })).toThrow(/another policy/);
  });

  test("clear takes effect at once for a limiter with a deny cache and leases", async () => {
    const store = requireStore(memoryStore({ clock: () => MINUTE }));
    const limits = gcra({ limit: 20, window: "1h" });
    const lease = { max: 10, ttl: "1m" } as const;
    const limiter = createLimiter({ name: "test", limits, store, denyCache: true, lease });
    for (let i = 0; i < 21; i += 1) await limiter.consume("a");
    expect((await limiter.consume("a")).allowed).toBe(false);
    store.clear();
    expect((await limiter.consume("a")).remaining).toBe(19);
  });

  test("waiting calls are admitted at their time, with the units left after clear", async () => {
    const store = requireStore(memoryStore({ clock: () => MINUTE }));
    const limiter = createLimiter({ name: "test", limits: gcra({ limit: 1, window: 20 }), store });
    await limiter.consume("a");
    const waiting = limiter.wait("a");
    store.clear();
    expect((await waiting).allowed).toBe(true);
    expect((await limiter.consume("a")).allowed).toBe(false);
  });

  test("clear ignores the argument of a test runner's hook", async () => {
    const store = requireStore(memoryStore());
    const limiter = createLimiter({
      name: "test",
      limits: gcra({ limit: 1, window: "1h" }),
      store,
    });
    await limiter.consume("a");
    const hook: (context: object) => unknown = store.clear;
    expect(hook({})).toBeUndefined();
    expect((await limiter.consume("a")).allowed).toBe(true);
  });
});

test("a blocked subject is evicted last until its level is forgotten", async () => {
  let now = 0;
  const store = requireStore(memoryStore({ maxKeys: 3, clock: () => now }));
  const limits = fixedWindow({ limit: 2, window: "1h", block: ["1s", "1m"] });
  const limiter = createLimiter({ name: "test", limits, store });
  const crowd = async (): Promise<void> => {
    // Each has spent all of the limit.
    for (let i = 0; i < 10; i += 1) await limiter.consume(`other-${now}-${i}`, { cost: 2 });
  };
  await limiter.block("by hand", "1d");
  await limiter.consume("guesser", { cost: 2 });
  await limiter.consume("guesser");
  await crowd();
  for (const who of ["by hand", "guesser"]) {
    expect(await limiter.peek(who)).toMatchObject({ blocked: true });
  }
  now += 1_000;
  await crowd();
  await limiter.consume("guesser", { cost: 2 });
  expect(await limiter.consume("guesser")).toMatchObject({ blocked: true, retryAfterMs: 60_000 });
  now += 60_000 + 3_600_000;
  await crowd();
  await limiter.consume("guesser", { cost: 2 });
  expect(await limiter.consume("guesser")).toMatchObject({ retryAfterMs: 1_000 });
  expect(await limiter.peek("by hand")).toMatchObject({ blocked: true });
});
