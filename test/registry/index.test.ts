import { hostname } from "node:os";
import type { Store } from "@headgate/core";
import { createLimiter, gcra, memoryStore } from "@headgate/core";
import { readRegistry } from "@headgate/core/admin";
import { requireStore } from "@headgate/core/internal";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { describe, expect, onTestFinished, test } from "vitest";
import type { RegistryCall } from "../../packages/core/src/registry/operations.ts";
import { INDEX_STATES, updateRegistry } from "../../packages/core/src/registry/operations.ts";
import { thisProcess } from "../../packages/core/src/registry/process-registry.ts";
import { watchWarnings } from "../http/support/warnings.ts";
import { useOwnRedis } from "../support/own-redis.ts";
import { writeRegistry } from "../support/write-registry.ts";

const own = useOwnRedis();

const INDEX = "hg:{registry}";
const NOW = 1_800_000_000_000;

/** Keeps a process in the index at a time of its own, in milliseconds. */
async function keep(at: number, call: Partial<RegistryCall> = {}): Promise<readonly number[]> {
  const store = requireStore(redisStore(own.client, { clock: () => at }));
  const whole = {
    prefix: "hg",
    process: nameOf(0),
    record: "{}",
    ttlMs: 110_000,
    shared: [],
    ...call,
  };
  const [, ...rest] = await store.run(updateRegistry, { sharedTtlMs: 7_200_000, ...whole });
  return rest;
}

function nameOf(number: number): string {
  return `process-${String(number).padStart(8, "0")}`;
}

/** The names that are in the index, the one that wrote last at the end. */
function names(): Promise<string[]> {
  return own.client.zrange(INDEX, "0", "-1");
}

/** A limiter on a store, as another process has it: each client has an index entry of its own. */
async function listElsewhere(name: string, limit: number, prefix?: string): Promise<Store> {
  const client = new Redis(own.server.socket);
  const store = requireStore(redisStore(client, { prefix }));
  const limiter = createLimiter({ name, store, limits: gcra({ limit, window: "1m" }) });
  onTestFinished(async () => {
    await limiter.close();
    client.disconnect();
  });
  await writeRegistry(store);
  return store;
}

/** Does something as a process of another name would. */
async function asAnotherProcess(work: () => Promise<unknown>): Promise<void> {
  const known = thisProcess() as { process: string };
  const { process } = known;
  known.process = "another-name";
  try {
    await work();
  } finally {
    known.process = process;
  }
}

describe("the index of the registry", () => {
  test("has each process with the second of its last write, and drops gone processes when one is added", async () => {
    expect(await keep(NOW)).toEqual([INDEX_STATES.new]);
    expect(await keep(NOW + 30_000)).toEqual([INDEX_STATES.known]);
    expect(await keep(NOW, { process: nameOf(1) })).toEqual([INDEX_STATES.new]);
    expect(await own.client.zrange(INDEX, "0", "-1", "WITHSCORES")).toEqual([
      ...[nameOf(1), "1800000000"],
      ...[nameOf(0), "1800000030"],
    ]);
    await keep(NOW + 111_000, { process: nameOf(2) });
    expect(await names()).toEqual([nameOf(0), nameOf(2)]);
    // One whose entry was lost meanwhile is new again.
    expect(await keep(NOW + 111_000, { process: nameOf(1) })).toEqual([INDEX_STATES.new]);
  });

  test("loses a leaving process, and is deleted with the last one", async () => {
    await keep(NOW);
    await keep(NOW, { process: nameOf(1) });
    expect(await own.client.exists(`${INDEX}:process/${nameOf(1)}`)).toBe(1);
    expect(await keep(NOW, { process: nameOf(1), record: "" })).toEqual([INDEX_STATES.known]);
    expect(await names()).toEqual([nameOf(0)]);
    expect(await keep(NOW, { process: nameOf(1), record: "" })).toEqual([INDEX_STATES.new]);
    await keep(NOW, { record: "" });
    expect(await own.scan()).toEqual([]);
  });

  test("holds at most 10,000 processes", async () => {
    const all = Array.from({ length: 10_000 }, (_, i) => [1_800_000_000, nameOf(i)]);
    await own.client.zadd(INDEX, ...all.flat().map(String));
    expect((await readRegistry(own.client)).unreadable).toEqual([]);
    expect(await keep(NOW, { process: nameOf(10_000) })).toEqual([INDEX_STATES.full]);
    expect(await own.client.exists(`${INDEX}:process/${nameOf(10_000)}`)).toBe(0);
    expect(await keep(NOW, { process: nameOf(9_999) })).toEqual([INDEX_STATES.known]);
    await keep(NOW, { process: nameOf(5_000), record: "" });
    expect(await keep(NOW, { process: nameOf(10_000) })).toEqual([INDEX_STATES.new]);
  });

  test("is left alone if its key holds a value of another type", async () => {
    await own.client.set(INDEX, "text of somebody else");
    expect(await keep(NOW, { shared: [{ hash: "hash", text: "{}" }] })).toEqual([-1, 0]);
    expect(await own.scan()).toHaveLength(1);
  });
});

describe("every key of the registry", () => {
  test("is in one hash slot, and expires", async () => {
    await listElsewhere("api", 5);
    const keys = (await own.scan()).map(String);
    expect(keys).toHaveLength(3);
    for (const key of keys) {
      expect(key).toMatch(/^hg:\{registry\}(?:|:process\/[\w-]{16}|:record\/[\w-]{8})$/);
      const rest = await own.client.pttl(key);
      expect(rest).toBeGreaterThan(100_000);
      expect(rest).toBeLessThanOrEqual(key.includes("process") ? 110_000 : 7_200_000);
    }
  });

  test("of a process is deleted when the process closes its last limiter", async () => {
    const store = requireStore(redisStore(own.client));
    const make = (name: string) =>
      createLimiter({ name, store, limits: gcra({ limit: 5, window: "1m" }) });
    const [one, other] = [make("one"), make("other")];
    await writeRegistry(store);
    await one.close();
    expect((await readRegistry(store)).processes).toHaveLength(1);
    await other.close();
    expect(await readRegistry(store)).toEqual({
      limiters: [],
      breakers: [],
      processes: [],
      unreadable: [],
    });
    // Others may have the same limiters.
    const left = (await own.scan()).map(String);
    expect(left).toHaveLength(2);
    for (const key of left) expect(key).toContain(":record/");
  });
});

describe("several processes in the registry", () => {
  test("with the same limiter share one record, which names each of them", async () => {
    const store = await listElsewhere("api", 5);
    await listElsewhere("api", 5);
    const keys = (await own.scan()).map(String);
    expect(keys.filter((key) => key.includes(":record/"))).toHaveLength(1);
    expect(keys.filter((key) => key.includes(":process/"))).toHaveLength(2);
    const { limiters, processes } = await readRegistry(store);
    expect(limiters).toMatchObject([{ name: "api", hasOtherVersions: false }]);
    // Two clients of one process.
    expect(processes).toHaveLength(1);
    expect(limiters[0]?.processes).toEqual(processes.map(({ id }) => id));
  });

  test("with different policies under one name are listed with their own policy", async () => {
    const store = await listElsewhere("api", 5);
    await listElsewhere("other", 5);
    await asAnotherProcess(() => listElsewhere("api", 50));
    const { limiters, processes } = await readRegistry(store);
    expect(processes).toHaveLength(2);
    const api = limiters.filter(({ name }) => name === "api");
    expect(api.map(({ hasOtherVersions }) => hasOtherVersions)).toEqual([true, true]);
    const owners = new Map(api.map((one) => [JSON.stringify(one.limits), one.processes]));
    const [before = [], after = []] = [5, 50].map((limit) =>
      owners.get(JSON.stringify([gcra({ limit, window: "1m" })])),
    );
    expect(before).toHaveLength(1);
    expect(after).toHaveLength(1);
    expect(before).not.toEqual(after);
    expect(limiters.find(({ name }) => name === "other")).toMatchObject({
      hasOtherVersions: false,
      processes: before,
    });
  });

  test("report their host, process id and version", async () => {
    const store = await listElsewhere("api", 5);
    const { processes } = await readRegistry(store);
    const [time] = await own.client.time();
    expect(processes).toEqual([
      {
        id: expect.stringMatching(/^[\w-]{12}$/),
        host: hostname(),
        pid: process.pid,
        startedAt: Math.round(performance.timeOrigin),
        seenAt: expect.closeTo(Number(time) * 1_000, -4),
        version: expect.any(String),
        names: [expect.stringMatching(/^[\w-]{16}$/)],
        more: 0,
      },
    ]);
  });
});

describe("an unreadable record of the registry", () => {
  /** Writes something in place of what is under the one key that holds a text. */
  async function replace(part: string, change: (text: string) => string): Promise<string> {
    const keys = (await own.scan()).map(String);
    const key = keys.find((one) => one.includes(part)) as string;
    await own.client.set(key, change((await own.client.get(key)) ?? ""), "PX", 60_000);
    return key;
  }

  const damages = {
    "not JSON": () => "{",
    "no record": () => "[]",
    "without a field": (text: string) => text.replace('"version"', '"versoin"'),
    "of another kind": (text: string) => text.replace('"format":1', '"format":"1"'),
  };

  test.each(Object.entries(damages))("a process's record, %s, is damaged", async (_, change) => {
    const store = await listElsewhere("api", 5);
    const key = await replace(":process/", change);
    expect(await readRegistry(store)).toEqual({
      limiters: [],
      breakers: [],
      processes: [],
      unreadable: [{ key, reason: "damaged" }],
    });
  });

  test.each([
    ...Object.entries(damages),
    ["with a limit that there is not", (text: string) => text.replace("gcra", "gcar")],
    ["without limits", (text: string) => text.replace(/"limits":\[\{.*?\}\]/, '"limits":[]')],
    ["with a use that there is not", (text: string) => text.replace('"uses":[]', '"uses":[{}]')],
  ] as const)("a limiter's record, %s, is damaged, and the rest is read", async (_, change) => {
    const store = await listElsewhere("api", 5);
    const key = await replace(":record/", change);
    await listElsewhere("other", 5);
    const { limiters, processes, unreadable } = await readRegistry(store);
    expect(limiters.map(({ name }) => name)).toEqual(["other"]);
    expect(processes).toHaveLength(1);
    expect(unreadable).toEqual([{ key, reason: "damaged" }]);
  });

  test.each([":process/", ":record/"])(
    "%s… of another format is reported as such",
    async (part) => {
      const store = await listElsewhere("api", 5);
      const key = await replace(part, () => '{"format":2,"kind":"something new"}');
      expect((await readRegistry(store)).unreadable).toEqual([{ key, reason: "other-format" }]);
    },
  );

  test.each([
    [1_800_000_000, "text of somebody else"],
    [-1, nameOf(0)],
    [0.0001, nameOf(0)],
  ])("an index with the score %d of %s is damaged", async (score, name) => {
    await own.client.zadd(INDEX, score, name);
    const found = await readRegistry(own.client);
    expect(found).toMatchObject({ processes: [], unreadable: [{ key: INDEX, reason: "damaged" }] });
  });

  test("is reported for a value of another type, and for a missing record", async () => {
    const store = await listElsewhere("api", 5);
    const keys = (await own.scan()).map(String);
    const record = keys.find((key) => key.includes(":record/")) as string;
    await own.client.del(record);
    expect((await readRegistry(store)).unreadable).toEqual([{ key: record, reason: "missing" }]);
    await own.client.sadd(record, "x");
    expect((await readRegistry(store)).unreadable).toEqual([{ key: record, reason: "wrong-type" }]);
    await own.client.del(INDEX);
    await own.client.sadd(INDEX, "x");
    expect((await readRegistry(store)).unreadable).toEqual([{ key: INDEX, reason: "wrong-type" }]);
  });

  test("is not reported for a gone process that the index still has", async () => {
    const store = await listElsewhere("api", 5);
    const keys = (await own.scan()).map(String);
    await own.client.del(keys.find((key) => key.includes(":process/")) as string);
    expect(await readRegistry(store)).toMatchObject({ processes: [], unreadable: [] });
  });
});

describe("readRegistry", () => {
  test("takes a store or a client, with a prefix", async () => {
    const store = await listElsewhere("api", 5, "shop");
    const ofStore = await readRegistry(store);
    expect(ofStore.limiters).toHaveLength(1);
    expect(await readRegistry(own.client, { prefix: "shop" })).toEqual(ofStore);
    expect((await readRegistry(own.client)).limiters).toEqual([]);
    expect(
      (await readRegistry(requireStore(redisStore(own.client, { registry: false })))).limiters,
    ).toEqual([]);
  });

  test("rejects other sources, a second prefix, and unknown options", async () => {
    const invalid = { code: "HEADGATE_INVALID_OPTION" };
    const store = requireStore(redisStore(own.client));
    await expect(readRegistry(requireStore(memoryStore()))).rejects.toMatchObject(invalid);
    await expect(readRegistry(store, { prefix: "hg" })).rejects.toMatchObject(invalid);
    await expect(readRegistry(own.client, { prefix: "a b" })).rejects.toMatchObject(invalid);
    await expect(readRegistry(own.client, { timeout: 0 })).rejects.toMatchObject(invalid);
    await expect(readRegistry(store, { prefxi: "hg" } as never)).rejects.toMatchObject(invalid);
    await expect(readRegistry({} as never)).rejects.toMatchObject({
      code: "HEADGATE_UNKNOWN_REDIS_CLIENT",
    });
    expect(() => requireStore(redisStore(own.client, { registry: "no" as never }))).toThrow(
      "registry must be",
    );
  });

  test("rejects if the server does not answer within the timeout", async () => {
    own.server.freeze();
    onTestFinished(() => own.server.thaw());
    await expect(readRegistry(own.client, { timeout: "50ms" })).rejects.toMatchObject({
      code: "HEADGATE_STORE_UNAVAILABLE",
    });
  });
});

describe("a store with registry: false", () => {
  test("lists no limiter, and writes nothing", async () => {
    const warnings = watchWarnings();
    const store = requireStore(redisStore(own.client, { registry: false }));
    const limiter = createLimiter({ name: "api", store, limits: gcra({ limit: 5, window: "1m" }) });
    await writeRegistry(store);
    expect((await readRegistry(store)).limiters).toEqual([]);
    await limiter.close();
    expect(warnings).toEqual([]);
  });
});
