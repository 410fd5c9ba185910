import { createBreaker } from "@headgate/breaker";
import type { Limiter } from "@headgate/core";
import { createLimiter, gcra } from "@headgate/core";
import { createAdmin, readRegistry, readUsage } from "@headgate/core/admin";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { describe, expect, onTestFinished, test } from "vitest";
import { runCli } from "../cli/run-cli.ts";
import { watchWarnings } from "../http/support/warnings.ts";
import { useOwnRedis } from "../support/own-redis.ts";
import { sendUsage } from "../support/send-usage.ts";
import { waitUntil } from "../support/wait-until.ts";
import { writeRegistry } from "../support/write-registry.ts";

const own = useOwnRedis();

const MB = 1_000_000;

/** Values that an attacker with the application's permissions may write in place of a record, by name. */
const HOSTILE: readonly (readonly [name: string, make: () => Buffer])[] = [
  ["1 MB and a byte", () => Buffer.alloc(MB + 1, "7")],
  ["8 MB", () => Buffer.alloc(8 * MB, "7")],
  ["garbage bytes", () => Buffer.from(Array.from({ length: 65_536 }, (_, i) => (i * 31) % 256))],
  ["deep JSON", () => Buffer.from(`1900000000000000${"[".repeat(900_000)}`)],
];

function start(usage = false) {
  const client = new Redis(own.server.socket);
  onTestFinished(() => client.disconnect());
  const store = redisStore(client, { usage });
  const limits = gcra({ limit: 5, window: "1h" });
  const limiter = createLimiter({ name: "api", store, limits, storeTimeout: "10s" }) as Limiter;
  onTestFinished(() => limiter.close());
  return { client, store, limiter };
}

/** Node emits warnings one turn of the event loop later. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Returns the bytes that the server has sent to all clients. */
async function bytesSent(): Promise<number> {
  const info = await own.client.info("stats");
  return Number(/total_net_output_bytes:(\d+)/.exec(info)?.[1]);
}

async function doctor(): Promise<string> {
  return (await runCli(["doctor", "--redis", own.server.socket])).stdout;
}

describe("with garbage as the control record,", () => {
  const key = "hg:{control}";

  test.each([...HOSTILE, ["120 MB", () => Buffer.alloc(120 * MB, "7")]] as const)(
    "%s is hardly sent, and the operator is told",
    async (_, make) => {
      const warnings = watchWarnings();
      await own.client.set(key, make());
      const before = await bytesSent();
      const { limiter, store } = start();
      expect(await limiter.consume("ann")).toMatchObject({ remaining: 4, degraded: false });
      await turn();
      expect((await bytesSent()) - before).toBeLessThan(MB);
      expect(warnings.map(({ code }) => code)).toEqual(["HEADGATE_CONTROL_CORRUPT"]);
      await expect(createAdmin(store).readControl()).rejects.toMatchObject({
        code: "HEADGATE_CONTROL_CORRUPT",
      });
      expect(await doctor()).toContain(`the control record ${key} cannot be read`);
    },
  );

  test("8 MB leave the last known record in force until the key is deleted", async () => {
    const warnings = watchWarnings();
    const { limiter, store } = start();
    await createAdmin(store).setOverride({ limiter: "api", limits: { "5-per-1h": { limit: 9 } } });
    expect(await limiter.peek("ann")).toMatchObject({ limit: 9 });
    await own.client.set(key, Buffer.alloc(8 * MB, "7"));
    await waitUntil("the record was read again", 10_000, async () => {
      expect(await limiter.peek("ann")).toMatchObject({ limit: 9, degraded: false });
      return warnings[0];
    });
    expect(warnings).toMatchObject([
      { code: "HEADGATE_CONTROL_CORRUPT", message: expect.stringContaining("1000000 bytes") },
    ]);
    await own.client.del(key);
    await waitUntil("the override is gone", 10_000, async () =>
      (await limiter.peek("ann")).limit === 5 ? true : undefined,
    );
  });
});

test("the log of actions is read up to its last readable entry", async () => {
  const { store } = start();
  const admin = createAdmin(store);
  const limiter = { name: "api", limits: gcra({ limit: 5, window: "1h" }) };
  await admin.reset(limiter, "ann");
  await own.client.lpush("hg:{control}:actions", Buffer.alloc(20 * MB, "7"), "x", "[".repeat(MB));
  const before = await bytesSent();
  const { entries, unreadable } = await admin.log();
  expect(entries).toMatchObject([{ kind: "reset" }]);
  expect(unreadable).toBe(3);
  expect((await bytesSent()) - before).toBeLessThan(MB);
});

describe("with garbage as the registry's index,", () => {
  test.each(HOSTILE)("%s stops no process from deciding", async (_, make) => {
    const warnings = watchWarnings();
    await own.client.set("hg:{registry}", make());
    const before = await bytesSent();
    const { limiter, store } = start();
    await writeRegistry(store);
    await turn();
    expect(await limiter.consume("ann")).toMatchObject({ remaining: 4, degraded: false });
    expect(warnings.map(({ code }) => code)).toEqual(["HEADGATE_REGISTRY_REFUSED"]);
    const { unreadable } = await readRegistry(own.client);
    expect(unreadable).toMatchObject([{ key: "hg:{registry}" }]);
    expect((await bytesSent()) - before).toBeLessThan(MB);
    expect(await doctor()).toContain("hg:{registry}");
  });

  test("an index with too many processes is rejected", async () => {
    const future = 9_999_999_999;
    const all = Array.from({ length: 20_000 }, (_, i) => [future, `process-${10_000_000 + i}`]);
    await own.client.zadd("hg:{registry}", ...all.flat().map(String));
    const warnings = watchWarnings();
    const { store } = start();
    await writeRegistry(store);
    await turn();
    expect(warnings).toMatchObject([{ message: expect.stringContaining("it is full") }]);
    const { unreadable } = await readRegistry(own.client);
    expect(unreadable).toEqual([{ key: "hg:{registry}", reason: "too-long" }]);
  });
});

describe("with garbage in the usage records,", () => {
  /** More than any version writes, of each type. */
  const LARGE: readonly (readonly [name: string, write: (key: string) => Promise<unknown>])[] = [
    ...HOSTILE.map(([name, make]) => [name, (key: string) => own.client.set(key, make())] as const),
    ["a field of 8 MB", (key) => own.client.hset(key, "used floor", Buffer.alloc(8 * MB, "7"))],
    [
      "30,000 fields",
      (key) => own.client.hset(key, ...Array.from({ length: 60_000 }, (_, i) => String(i))),
    ],
    ["an endless number", (key) => own.client.hset(key, "used floor", "inf")],
    ["text in place of a number", (key) => own.client.hset(key, "used total", "[".repeat(100_000))],
  ];

  test.each(LARGE)("%s stops no process from counting, and is hardly read", async (_, write) => {
    const warnings = watchWarnings();
    const { limiter, store } = start(true);
    await limiter.consume("ann");
    await sendUsage(store);
    const [key = ""] = await own.client.keys("hg:{usage}:bounds/*");
    await own.client.del(key);
    await write(key);
    await limiter.consume("ann");
    await sendUsage(store);
    await turn();
    const before = await bytesSent();
    const { limiters, unreadable } = await readUsage(own.client);
    expect((await bytesSent()) - before).toBeLessThan(MB);
    expect(limiters).toMatchObject([{ name: "api", total: { allowed: 2, denied: 0 } }]);
    const isKept = unreadable.some((one) => one.key === key);
    // A hash with foreign values is written again without them.
    expect(isKept || (await own.client.hlen(key)) < 10).toBe(true);
    expect(warnings.map(({ code }) => code)).toEqual(isKept ? ["HEADGATE_USAGE_REFUSED"] : []);
    expect(await limiter.consume("ann")).toMatchObject({ remaining: 2, degraded: false });
    if (isKept) expect(await doctor()).toContain(key);
  });

  test("endless scores in a list of subjects stop no process from counting", async () => {
    const { limiter, store } = start(true);
    await limiter.consume("ann");
    await sendUsage(store);
    const [key = ""] = await own.client.keys("hg:{usage}:used/*");
    await own.client.zadd(key, "inf", "default bob", "-inf", "default eve");
    await limiter.consume("ann");
    await sendUsage(store);
    const { limiters, unreadable } = await readUsage(own.client);
    expect(limiters).toMatchObject([{ total: { allowed: 2 } }]);
    expect(unreadable).toEqual([]);
    expect(await own.client.zscore(key, "default bob")).toBe("0");
  });

  test.each(HOSTILE)(
    "%s as the index or as the number of a process is rejected",
    async (_, make) => {
      const warnings = watchWarnings();
      const { limiter, store } = start(true);
      await own.client.set("hg:{usage}", make());
      await limiter.consume("ann");
      await sendUsage(store);
      await own.client.del("hg:{usage}");
      await limiter.consume("ann");
      await sendUsage(store);
      const [process] = await own.client.keys("hg:{usage}:process/*");
      await own.client.set(process as string, make());
      await limiter.consume("ann");
      await sendUsage(store);
      await turn();
      expect(warnings.map(({ code }) => code)).toEqual(["HEADGATE_USAGE_REFUSED"]);
      expect((await readUsage(own.client)).limiters).toMatchObject([{ total: { allowed: 2 } }]);
    },
  );
});

describe("with garbage as a breaker's records,", () => {
  test.each(HOSTILE)("%s is treated as absent and overwritten", async (_, make) => {
    const { store } = start();
    const options = { name: "crm", store, window: { calls: 10 }, minimumCalls: 5 } as const;
    const breaker = createBreaker({ ...options, storeTimeout: "10s", flushInterval: 0 });
    onTestFinished(() => breaker.close());
    const fail = () => breaker.run(() => Promise.reject(new Error("no"))).catch(() => {});
    await fail();
    const [window] = await waitUntil("the first call was reported", 10_000, async () => {
      const keys = await own.client.keys("hg:{default}:breaker/crm:*");
      return keys.length > 0 ? keys : undefined;
    });
    for (const key of [window as string, "hg:{default}:breaker/crm"]) {
      await own.client.set(key, make());
    }
    await fail();
    await waitUntil("the second call was reported", 10_000, async () =>
      (await own.client.strlen(window as string)) < 1_000 ? true : undefined,
    );
    expect(await breaker.snapshot()).toMatchObject({ state: "closed", calls: 1 });
  });
});
