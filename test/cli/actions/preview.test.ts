import { createBreaker } from "@headgate/breaker";
import {
  concurrency,
  createLimiter,
  fixedWindow,
  gcra,
  slidingLog,
  tokenBucket,
} from "@headgate/core";
import { createAdmin } from "@headgate/core/admin";
import { requireStore } from "@headgate/core/internal";
import { redisStore } from "@headgate/core/redis";
import { describe, expect, onTestFinished, test } from "vitest";
import { sendUsage } from "../../support/send-usage.ts";
import { writeRegistry } from "../../support/write-registry.ts";
import { useHeadgate } from "./use-headgate.ts";

const own = useHeadgate();

/** Times, which pass between a preview and the action. */
const TIMES = ["endsInMs", "retryAfterMs", "resetAfterMs", "refillAfterMs", "from", "until"];

/** On a busy machine the server answers late. */
const PATIENT = { storeTimeout: "10s", denyCache: false } as const;

const LONGEST_MS = 60_000;

interface Document {
  readonly done: readonly {
    readonly before?: unknown;
    readonly after?: unknown;
    readonly notes: readonly string[];
  }[];
}

/** Expects the same, and times that differ by no more than passes between two commands. */
function expectSame(preview: unknown, actual: unknown): void {
  const timeless = (value: unknown): unknown =>
    JSON.parse(
      JSON.stringify(value ?? null, (name, part: unknown) =>
        TIMES.includes(name) && typeof part === "number" ? "a time" : part,
      ),
    );
  expect(timeless(preview)).toEqual(timeless(actual));
  const timesOf = (value: unknown): number[] => {
    const times: number[] = [];
    JSON.stringify(value ?? null, (name, part: unknown) => {
      if (TIMES.includes(name) && typeof part === "number") times.push(part);
      return part;
    });
    return times;
  };
  const actualTimes = timesOf(actual);
  for (const [i, time] of timesOf(preview).entries()) {
    expect(Math.abs(time - (actualTimes[i] ?? 0))).toBeLessThan(LONGEST_MS);
  }
}

const POLICIES = {
  gcra: gcra({ limit: 5, window: "1h" }),
  "fixed window": fixedWindow({ limit: 3, window: "1h", block: "10m" }),
  "calendar window": fixedWindow({ limit: 3, window: "month" }),
  "sliding log": slidingLog({ limit: 3, window: "1h", block: "10m" }),
  "token bucket": tokenBucket({ capacity: 4, refill: 1, every: "1h" }),
  "concurrency and a rate": [
    concurrency({ limit: 2, ttl: "1h" }),
    gcra({ limit: 9, window: "1h", name: "rate" }),
  ],
} as const;

test("a dry run says whom a block, an override and a deny-list entry would affect, by recent usage", async () => {
  const store = redisStore(own.client.duplicate(), { usage: { subjects: "plain" } });
  const limits = fixedWindow({ limit: 3, window: "1h" });
  const limiter = createLimiter({ ...PATIENT, name: "api", limits, store });
  onTestFinished(async () => {
    await limiter.close();
    (requireStore(store).owner as { disconnect(): void }).disconnect();
  });
  for (let i = 0; i < 5; i += 1) await limiter.consume("203.0.113.7");
  await writeRegistry(store);
  const impactOf = async (...args: readonly string[]) =>
    (await own.run([...args, "--dry-run"])).stdout;
  const block = ["block", "203.0.113.7", "1h", "--limiter", "api"];
  expect(await impactOf(...block)).toContain("is not known: no usage is recorded");
  await sendUsage(store);
  expect(await impactOf(...block)).toMatch(
    /It sent .+ a minute in the last .+, of which .+ were denied, and at least 5 in the last one\./,
  );
  expect(await impactOf("set", "3-per-1h.limit=1", "--limiter", "api")).toMatch(
    /The new limits would deny at least .+, of at least 1 active client, if each costs 1\./,
  );
  expect(await impactOf("deny-list", "add", "203.0.113.0/24")).toContain(
    "1 client of the last hour is in it (203.0.113.7)",
  );
  expect((await own.run(["deny-list", "add", "203.0.113.0/24"])).stdout).not.toContain("is in it");
});

describe.each(Object.entries(POLICIES))("a dry run on a limiter with %s", (_, limits) => {
  test.each([
    ["block", "ann", "2h"],
    ["unblock", "ann"],
    ["reset", "ann"],
    ["forget", "ann"],
  ])("shows the states that the action %s then has", async (...words) => {
    for (const isBlocked of [false, true]) {
      await own.client.flushall();
      const store = own.store();
      const limiter = createLimiter({ ...PATIENT, name: "api", limits, store });
      onTestFinished(() => limiter.close());
      for (let i = 0; i < 4; i += 1) await limiter.consume("ann");
      await writeRegistry(store);
      if (isBlocked) await createAdmin(store).block({ name: "api", limits }, "ann", "1h");
      const subject = { default: "ann" };
      await createAdmin(store).setOverride({ limiter: "api", subject, shadow: true });
      const args = [...words, "--limiter", "api"];
      const before = await own.dump();
      const preview = (await own.json([...args, "--dry-run"])) as Document;
      expect(await own.dump()).toEqual(before);
      const actual = (await own.json(args)) as Document;
      await limiter.close();
      expect(preview.done).toHaveLength(1);
      expectSame(preview.done[0]?.before, actual.done[0]?.before);
      expectSame(preview.done[0]?.after, actual.done[0]?.after);
    }
  });
});

test("a dry run of forget counts the entries that forget then erases", async () => {
  const store = requireStore(redisStore(own.client, { usage: true }));
  const limiter = createLimiter({ ...PATIENT, name: "api", limits: POLICIES.gcra, store });
  onTestFinished(() => limiter.close());
  await limiter.consume("ann");
  await limiter.consume("bob");
  await writeRegistry(store);
  const { usageOf } = await import("../../../packages/core/src/usage/process-usage.ts");
  await expect
    .poll(async () => {
      await usageOf(store).send();
      return (await own.client.keys("hg:{usage}*")).length;
    })
    .toBeGreaterThan(0);
  await createAdmin(store).block({ name: "api", limits: POLICIES.gcra }, "ann", "1h");
  await createAdmin(store).setOverride({
    limiter: "api",
    subject: { default: "ann" },
    shadow: true,
  });
  const before = await own.dump();
  const preview = (await own.json(["forget", "ann", "--dry-run"])) as Document;
  expect(await own.dump()).toEqual(before);
  const actual = (await own.json(["forget", "ann"])) as Document;
  const numbersOf = ({ done }: Document) => done[0]?.notes.map((note) => note.replace(/\D/g, ""));
  expect(numbersOf(preview)).toEqual(numbersOf(actual));
  expect(preview.done[0]?.notes[0]).toMatch(/^override to be removed: in shadow mode; for ann/);
  expect(preview.done[0]?.notes[1]).toBe("name would be removed from 2 log entries");
});

test("a dry run of set or unset shows the override before and after, in text and JSON", async () => {
  const store = own.store();
  const limiter = createLimiter({ ...PATIENT, name: "orders", limits: POLICIES.gcra, store });
  onTestFinished(() => limiter.close());
  await writeRegistry(store);
  const set = (limit: number) => ["set", "--limiter", "orders", `5-per-1h.limit=${limit}`];
  await own.run([...set(100), "--yes", "--for", "2h"]);
  const { stdout } = await own.run([...set(300), "--dry-run", "--for", "1h"]);
  expect(stdout).toMatch(
    /^orders, \(all subjects\): would set\n {2}before: 5-per-1h: limit 100; .*\n {2}after: 5-per-1h: limit 300; for \(all subjects\), until .*\n {2}How many requests it would deny is not known: no usage is recorded\.\n {2}nothing was changed\n$/,
  );
  for (const args of [set(300), ["unset", "--limiter", "orders"]]) {
    const preview = (await own.json([...args, "--dry-run"])) as Document;
    const actual = (await own.json([...args, "--yes"])) as Document;
    expectSame(preview.done[0]?.before, actual.done[0]?.before);
    expectSame(preview.done[0]?.after, actual.done[0]?.after);
  }
});

test("a dry run of a breaker's order shows the state that the order then sets, from every state", async () => {
  const orders = ["open", "disable", "metrics-only", "reset", "close"];
  for (const first of ["none", ...orders]) {
    for (const order of orders) {
      await own.client.flushall();
      const store = own.store();
      const options = { name: "bank", store, flushInterval: 0, minimumCalls: 2 } as const;
      const breaker = createBreaker({
        ...options,
        storeTimeout: "10s",
        openFor: "1h",
        window: { calls: 4 },
      });
      // It opens by the failures where no order came first.
      for (let i = 0; i < 3; i += 1) await breaker.record("failure");
      await writeRegistry(store);
      const target = ["breaker", "bank", "default"];
      if (first !== "none") await own.run([...target, first]);
      const preview = (await own.json([...target, order, "--dry-run"])) as Document;
      const actual = (await own.json([...target, order])) as Document;
      await breaker.close();
      expectSame(preview.done[0]?.before, actual.done[0]?.before);
      expectSame(preview.done[0]?.after, actual.done[0]?.after);
    }
  }
});

test("--by is the name of the operator in the log, for every action", async () => {
  const store = own.store();
  const limiter = createLimiter({ ...PATIENT, name: "api", limits: POLICIES.gcra, store });
  const breaker = createBreaker({ name: "bank", store });
  onTestFinished(async () => {
    await Promise.all([limiter.close(), breaker.close()]);
  });
  await writeRegistry(store);
  const on = ["--limiter", "api", "--yes", "--by", "ann@example.com"];
  const actions = [
    ["block", "eve", "1h", ...on],
    ["unblock", "eve", ...on],
    ["reset", "eve", ...on],
    ["forget", "eve", ...on],
    ["set", "5-per-1h.limit=9", ...on],
    ["unset", ...on],
    ["breaker", "bank", "default", "open", "--by", "ann@example.com"],
  ];
  for (const action of actions) expect((await own.run(action)).exitCode).toBe(0);
  const { entries } = await createAdmin(store).log();
  expect(entries.map(({ by }) => by)).toEqual(actions.map(() => "ann@example.com"));
});
