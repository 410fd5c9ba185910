import { createLimiter, fixedWindow, gcra, memoryStore, slidingLog } from "@headgate/core";
import { parseGuardOptions } from "@headgate/core/internal-http";
import { redisStore } from "@headgate/core/redis";
import {
  BurstyRateLimiter,
  RateLimiterMemory,
  RateLimiterRedis,
  RateLimiterUnion,
} from "rate-limiter-flexible";
import { afterEach, describe, expect, test, vi } from "vitest";
import { useOwnDatabase } from "../../support/own-database.ts";
import { page } from "../markdown.ts";
import { readDeclarations } from "./declarations.ts";
import { load } from "./programs.ts";
import {
  describeDifferences,
  describeErrors,
  describeSetUps,
  namesIn,
  tablesIn,
  tablesUnder,
} from "./side-by-side.ts";
import { unreachableRedis } from "./unreachable-redis.ts";
import { admittedAtWindowEdge, freezeClock } from "./window-edge.ts";

const it = page("docs/moving/from-rate-limiter-flexible.md");

/** The calls of a set-up's function, in order, and their results on both sides. */
interface Traffic {
  readonly call: string;
  readonly of: readonly string[];
  readonly answers: readonly unknown[];
}

async function answersOf(program: string, { call, of }: Traffic): Promise<unknown[]> {
  const { [call]: consume } = await load(program, [call]);
  const answers: unknown[] = [];
  for (const one of of) answers.push(await (consume as (one: string) => Promise<unknown>)(one));
  return answers;
}

const fiveTimes = Array<string>(5).fill("ada");

describeSetUps<Traffic>(
  it,
  {
    "The five-minute move": {
      call: "allows",
      of: [...fiveTimes, "grace"],
      answers: [true, true, true, false, false, true],
    },
    "A block after too many": { call: "waits", of: fiveTimes, answers: [0, 0, 60, 60, 60] },
  },
  async ({ before, after }, traffic) => {
    const [theirs, ours] = [answersOf(before, traffic), answersOf(after, traffic)];
    expect(await theirs).toEqual(traffic.answers);
    expect(await ours).toEqual(traffic.answers);
  },
);

/** Whether the other limiter admits a call. */
async function isAdmitted(call: Promise<unknown>): Promise<boolean> {
  return call.then(
    () => true,
    () => false,
  );
}

afterEach(() => {
  vi.useRealTimers();
});

describeDifferences(it, {
  async "A denial is a value."() {
    const limits = fixedWindow({ limit: 1, window: "1m" });
    const before = new RateLimiterMemory({ points: 1, duration: 60 });
    const after = createLimiter({ limits });
    await before.consume("ada");
    await after.consume("ada");
    await expect(before.consume("ada")).rejects.toMatchObject({ remainingPoints: 0 });
    expect(await after.consume("ada")).toMatchObject({ allowed: false, remaining: 0 });
  },
  async "A cost above the limit starts no block."() {
    const limits = fixedWindow({ limit: 2, window: "1m", block: "1h" });
    const before = new RateLimiterMemory({ points: 2, duration: 60, blockDuration: 3_600 });
    const after = createLimiter({ limits });
    expect(await isAdmitted(before.consume("ada", 3))).toBe(false);
    expect(await after.consume("ada", { cost: 3 })).toMatchObject({
      allowed: false,
      retryAfterMs: Number.POSITIVE_INFINITY,
    });
    expect(await isAdmitted(before.consume("ada"))).toBe(false);
    expect((await after.consume("ada")).allowed).toBe(true);
    await after.block("ada", "1h");
    expect((await after.consume("ada")).blocked).toBe(true);
  },
  async "A denied call costs nothing."() {
    const limits = fixedWindow({ limit: 3, window: "1m" });
    const before = new RateLimiterMemory({ points: 3, duration: 60 });
    const after = createLimiter({ limits });
    const theirs: boolean[] = [];
    const ours: boolean[] = [];
    for (const cost of [2, 3, 1]) {
      theirs.push(await isAdmitted(before.consume("ada", cost)));
      ours.push((await after.consume("ada", { cost })).allowed);
    }
    expect({ theirs, ours }).toEqual({ theirs: [true, false, false], ours: [true, false, true] });
  },
  async "Several limits are one decision."() {
    const hour = new RateLimiterMemory({ keyPrefix: "hour", points: 5, duration: 3_600 });
    const minute = new RateLimiterMemory({ keyPrefix: "minute", points: 1, duration: 60 });
    const before = new RateLimiterUnion(minute, hour);
    const after = createLimiter({
      limits: [
        fixedWindow({ limit: 1, window: "1m" }),
        fixedWindow({ name: "hour", limit: 5, window: "1h" }),
      ],
    });
    for (let i = 0; i < 3; i += 1) {
      await isAdmitted(before.consume("ada"));
      await after.consume("ada");
    }
    expect((await hour.get("ada"))?.remainingPoints).toBe(2);
    const { limits } = await after.peek("ada", { cost: 0 });
    expect(limits).toMatchObject([{ remaining: 0 }, { remaining: 4 }]);
    // The limiters that denied: the other limiter names them in the keys of the rejection.
    const rejection = await before.consume("ada").catch((denials: object) => denials);
    expect(Object.keys(rejection)).toEqual(["minute"]);
    const denial = await after.consume("ada");
    expect(denial.limits.map(({ retryAfterMs }) => retryAfterMs > 0)).toEqual([true, false]);
  },
  async "Redis may fail."() {
    const storeClient = unreachableRedis();
    const before = new RateLimiterRedis({ storeClient, points: 1, duration: 60 });
    const limits = fixedWindow({ limit: 1, window: "1m" });
    const after = createLimiter({ name: "away", limits, store: redisStore(storeClient) });
    await expect(before.consume("ada")).rejects.toThrow(Error);
    expect(await after.consume("ada")).toMatchObject({ allowed: true, degraded: true });
    expect(await after.consume("ada")).toMatchObject({ allowed: false, degraded: true });
  },
  async "The window can slide."() {
    freezeClock();
    const store = memoryStore({ clock: () => Date.now() });
    const before = new RateLimiterMemory({ points: 3, duration: 60 });
    const limits = slidingLog({ limit: 3, window: "1m" });
    const after = createLimiter({ name: "slides", limits, store });
    const admitted = await admittedAtWindowEdge({
      before: () => isAdmitted(before.consume("ada")),
      after: async () => (await after.consume("ada")).allowed,
    });
    expect(admitted).toEqual({ before: 5, after: 3 });
  },
});

describe("on Redis", () => {
  const storeClient = useOwnDatabase();

  test("both block at the same denial, for the same time", async () => {
    const times = { points: 10, duration: 60, blockDuration: 3_600 };
    const before = new RateLimiterRedis({ storeClient, ...times, blockOnConsumed: 15 });
    const after = createLimiter({
      name: "blocks",
      limits: fixedWindow({ limit: 10, window: "1m", block: { after: 5, for: "1h" } }),
      store: redisStore(storeClient),
      storeTimeout: "10s",
    });
    const theirs: string[] = [];
    const ours: string[] = [];
    for (let i = 0; i < 500; i += 1) {
      theirs.push(await before.consume("ada").then(() => "allowed", waitOf));
      const decision = await after.consume("ada");
      ours.push(decision.allowed ? "allowed" : waitOf({ msBeforeNext: decision.retryAfterMs }));
    }
    expect(theirs).toEqual([
      ...Array<string>(10).fill("allowed"),
      ...Array<string>(4).fill("later"),
      ...Array<string>(486).fill("blocked"),
    ]);
    expect(ours).toEqual(theirs);
  });

  test("an in-memory block corresponds to a block that holds in all processes", async () => {
    const before = new RateLimiterRedis({
      storeClient,
      keyPrefix: "in-memory",
      points: 10,
      duration: 60,
      inMemoryBlockOnConsumed: 15,
      inMemoryBlockDuration: 3_600,
    });
    const limits = fixedWindow({ limit: 10, window: "1m", block: { after: 5, for: "1h" } });
    const store = redisStore(storeClient);
    const after = createLimiter({ name: "shared", limits, store, storeTimeout: "10s" });
    const theirs: string[] = [];
    const ours: string[] = [];
    for (let i = 0; i < 20; i += 1) {
      theirs.push(await before.consume("ada").then(() => "allowed", waitOf));
      const decision = await after.consume("ada");
      ours.push(decision.allowed ? "allowed" : waitOf({ msBeforeNext: decision.retryAfterMs }));
    }
    expect(theirs.lastIndexOf("later")).toBe(13);
    expect(ours).toEqual(theirs);
  });
});

function waitOf({ msBeforeNext }: { readonly msBeforeNext: number }): string {
  return msBeforeNext > 3_000_000 ? "blocked" : "later";
}

test("the bursts of both allow the same number at once", async () => {
  const steady = new RateLimiterMemory({ points: 2, duration: 60 });
  const before = new BurstyRateLimiter(steady, new RateLimiterMemory({ points: 3, duration: 600 }));
  const after = createLimiter({ limits: gcra({ limit: 2, window: "1m", burst: 5 }) });
  const theirs: boolean[] = [];
  const ours: boolean[] = [];
  for (let i = 0; i < 6; i += 1) {
    theirs.push(await isAdmitted(before.consume("ada")));
    ours.push((await after.consume("ada")).allowed);
  }
  expect(theirs).toEqual([true, true, true, true, true, false]);
  expect(ours).toEqual(theirs);
});

describe("its types", () => {
  const types = readDeclarations("node_modules/rate-limiter-flexible", "types.d.ts");
  const under = (heading: string) => tablesUnder(it, heading);
  const options = ["Limits and waiting", "The store", "Databases", "Lists"].flatMap(under);

  test("the page lists exactly the options of its types", () => {
    const typed = types.exported
      .filter((name) => /Opt(?:ion)?s/.test(name))
      .flatMap(types.propertiesOf);
    expect(namesIn(options).toSorted()).toEqual([...new Set(typed)].toSorted());
  });

  test("the page lists exactly the classes of its types", () => {
    expect(namesIn(under("Classes")).toSorted()).toEqual(types.classes.toSorted());
  });

  test("the page lists exactly the methods and properties of its types", () => {
    const options = namesIn(tablesIn(it, "Every option"));
    const typed = types.classes
      .flatMap(types.propertiesOf)
      // The fields of errors, the new names of options, and the method that closes both.
      .filter((name) => !["name", "message", "stack", "extra", "close", ...options].includes(name));
    const named = namesIn(under("Methods and properties")).map((name) => name.split("(")[0] ?? "");
    expect(typed.filter((name) => !named.includes(name))).toEqual([]);
    const all = types.classes.flatMap(types.propertiesOf);
    expect(named.filter((name) => !all.includes(name))).toEqual([]);
  });

  const limits = fixedWindow({ limit: 1, window: "1m" });
  describeErrors(
    ["Limits and waiting", "The store", "Databases"].flatMap(under),
    (more) => createLimiter({ limits, ...more }),
    [],
  );
  describeErrors(under("Lists"), (more) => parseGuardOptions("rateLimit", { limits, ...more }), [
    "limiter",
  ]);
});
