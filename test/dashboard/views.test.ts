import { createBreaker } from "@headgate/breaker";
import type { RegistryLimiter } from "@headgate/core/admin";
import { createAdmin, readRegistry } from "@headgate/core/admin";
import { addToRegistry, requireStore } from "@headgate/core/internal";
import { redisStore } from "@headgate/core/redis";
import { createLimiter, fixedWindow, gcra } from "@headgate/express";
import { describe, expect, onTestFinished, test } from "vitest";
import { useOwnRedis } from "../support/own-redis.ts";
import { writeRegistry } from "../support/write-registry.ts";
import { consume, createFleet, THREE_AN_HOUR } from "./support/fleet.ts";
import { mounts, nodeMount } from "./support/mounts.ts";
import { api } from "./support/send-request.ts";

const own = useOwnRedis();

/** A value in place of a number or a string that cannot be converted to a string. */
const ODD = { limits: [{ name: { toString: 1 } }, { x: 1 }], state: { toString: 1 } };

/** A fleet with usage, and its page for a visitor who may read. */
async function seed() {
  const fleet = createFleet(own.client);
  const api = fleet.make("api", THREE_AN_HOUR);
  const login = fleet.make("login", gcra({ limit: 100, window: "1m", burst: 10 }));
  await consume(api, "ann", 5);
  await consume(api, "bob", 1);
  await consume(login, "ann", 2);
  await fleet.report();
  const admin = createAdmin(fleet.store);
  const page = await nodeMount.mount({ store: fleet.store, authorize: () => "read" });
  return { fleet, operator: admin, page, api: { name: "api", limits: THREE_AN_HOUR } };
}

describe.each(mounts)("the dashboard in $name", ({ mount }) => {
  test("the API answers for every view", async () => {
    const { fleet } = await seed();
    const began = Date.now();
    const page = await mount({ store: fleet.store, authorize: () => "read", title: "Ours" });
    const session = await api(page, "session");
    expect(session.status).toBe(200);
    expect(session.json).toMatchObject({ by: null, actions: [], prefix: "fleet", title: "Ours" });
    expect(session.headers["cache-control"]).toBe("no-store");
    const reads = ["overview?span=24h", "limiter?name=api&span=1h", "breakers", "control", "log"];
    for (const read of [...reads, "redis"]) {
      const { status, json } = await api(page, read);
      expect([read, status]).toEqual([read, 200]);
      expect(json.at).toBeGreaterThanOrEqual(began);
      expect(json.at).toBeLessThanOrEqual(Date.now());
    }
    const subject = await api(page, "subject", { subject: "ann", kind: "text" });
    expect(subject.json.limiters.map(({ name }: { name: string }) => name)).toEqual([
      "api",
      "login",
    ]);
  });
});

describe("the overview", () => {
  test("has totals and series, with the limiter that denied most first", async () => {
    const began = Date.now();
    const { page } = await seed();
    const { json } = await api(page, "overview?span=1h");
    expect(json).toMatchObject({
      span: "1h",
      store: { latencyMs: expect.any(Number) },
      totals: { allowed: 6, denied: 2, degraded: 0 },
      stepMs: 60_000,
      others: null,
      mixedVersions: [],
      ignoredOverrides: [],
      active: { overrides: 0, blocks: 1, denyListEntries: 0, hasAllBlocks: true },
      coverage: { processes: 1, silentProcesses: 0 },
      unreadable: 0,
    });
    const sum = json.series.reduce((all: number, one: { denied: number }) => all + one.denied, 0);
    expect(sum).toBe(2);
    expect(json.limiters).toMatchObject([
      { name: "api", totals: { allowed: 4, denied: 2 }, versions: 1, processes: 1, overrides: 0 },
      { name: "login", totals: { allowed: 2, denied: 0 } },
    ]);
    expect(json.limiters[0].limits).toEqual([
      "3 per hour for each client, blocks for 10 minutes (fixedWindow)",
    ]);
    expect(json.processes).toMatchObject([{ pid: process.pid, unlistedCount: 0 }]);
    // In whole seconds.
    expect(json.processes[0].reportedAt).toBeGreaterThan(began - 1_000);
    expect(json.processes[0].reportedAt).toBeLessThanOrEqual(json.at);
  });

  test("begins with 15 minutes while nothing is older, and lists the most denied clients of all limiters", async () => {
    const { page } = await seed();
    const { json } = await api(page, "overview");
    expect(json).toMatchObject({ span: "15m", stepMs: 10_000, totals: { allowed: 6, denied: 2 } });
    const sum = json.series.reduce((all: number, one: { denied: number }) => all + one.denied, 0);
    expect(sum).toBe(2);
    expect(json.denied).toEqual([
      {
        limiter: "api",
        dimension: "default",
        subject: "ann",
        hash: null,
        count: 2,
        maxError: 0,
      },
    ]);
    // Lists of subjects are kept per ten minutes, so this one reaches further back than the span.
    expect(json.deniedFrom % 600_000).toBe(0);
    expect(json.deniedFrom).toBeLessThanOrEqual(json.at - 900_000);
    expect(json.deniedFrom).toBeGreaterThan(json.at - 1_500_000);
  });

  test("lists overrides that no process applies, and limiters with several versions of their policy", async () => {
    const { fleet, operator: admin, page } = await seed();
    await admin.setOverride({ limiter: "gone", shadow: true });
    await admin.setOverride({ limiter: "api", limits: { "3-per-1h": { limit: 9 } } });
    const other = createFleet(own.client);
    other.make("api", fixedWindow({ limit: 4, window: "1h" }));
    await other.report();
    await fleet.report();
    const { json } = await api(page, "overview");
    expect(json.mixedVersions).toEqual([{ name: "api", versions: 2 }]);
    const view = await api(page, "limiter?name=api");
    expect(view.json.policies).toHaveLength(2);
    expect(view.json.versionNotes[0]).toBe("The versions differ in their limits.");
    const lookup = { subject: "ann", kind: "text", limiter: "api" };
    const { limiters } = (await api(page, "subject", lookup)).json;
    // 3 of 3 used under one version, 3 of 4 under the other.
    expect(limiters.map(({ allowed }: { allowed: boolean }) => allowed).sort()).toEqual([
      false,
      true,
    ]);
    // That of a limiter in no process is not in force.
    expect(json.active.overrides).toBe(1);
    const ignored = json.ignoredOverrides.map(({ limiter }: { limiter: string }) => limiter);
    expect(ignored.sort()).toEqual(["api", "gone"]);
  });
});

describe("the limiter view", () => {
  test("has the policies as text and as code, and the top subjects", async () => {
    const { page, operator: admin } = await seed();
    await admin.setOverride(
      { limiter: "api", subject: { default: "ann" }, limits: { "3-per-1h": { limit: 5 } } },
      { by: "eve", reason: "she pays" },
    );
    const { json } = await api(page, "limiter?name=api&span=24h");
    expect(json).toMatchObject({
      name: "api",
      totals: { allowed: 4, denied: 2 },
      stepMs: 600_000,
      overrides: [
        {
          change: "3-per-1h: limit 5",
          subject: { default: "ann" },
          by: "eve",
          reason: "she pays",
          coverage: "in-force",
          appliedBy: 1,
        },
      ],
      processes: [{ pid: process.pid }],
    });
    expect(json.policies).toMatchObject([
      {
        code: 'fixedWindow({ limit: 3, window: "1h", block: "10m" })',
        numbers: { "3-per-1h": { limit: 3 } },
        shadow: false,
      },
    ]);
    expect(json.denials).toEqual([{ cause: { kind: "block" }, denied: 2 }]);
    expect(json.used[0]).toMatchObject({ dimension: "default", subject: "ann", count: 5 });
    expect(json.denied[0]).toMatchObject({ subject: "ann", count: 2 });
  });

  test("shows one policy while a fleet is upgraded to another version of Headgate", async () => {
    const { fleet, page } = await seed();
    const [record] = (await readRegistry(fleet.store)).limiters;
    const { processes: _, hasOtherVersions: __, ...listed } = record as RegistryLimiter;
    const other = createFleet(own.client);
    addToRegistry(requireStore(other.store), { ...listed, version: "0.0.1" });
    await other.report();
    expect((await readRegistry(fleet.store)).limiters.map(({ name }) => name)).toEqual([
      "api",
      "api",
      "login",
    ]);
    const { json } = await api(page, "limiter?name=api");
    expect(json.policies.map(({ code }: { code: string }) => code)).toEqual([
      'fixedWindow({ limit: 3, window: "1h", block: "10m" })',
    ]);
  });

  test("is 404 for an unknown limiter, and 400 without a name or with an invalid span", async () => {
    const { page } = await seed();
    expect((await api(page, "limiter?name=nobody")).status).toBe(404);
    expect((await api(page, "limiter")).status).toBe(400);
    expect((await api(page, "limiter?name=api&span=2h")).json.error.code).toBe("BAD_REQUEST");
  });
});

describe("the other views", () => {
  test("list blocks with the limit that set them, and mark the list as incomplete while a process is silent", async () => {
    const began = Date.now();
    const { page } = await seed();
    const { json } = await api(page, "control");
    expect(json).toMatchObject({
      hasAllBlocks: true,
      blocks: [{ limiter: "api", subject: { default: "ann" }, limit: "3-per-1h" }],
    });
    const blockedAt = json.blocks[0].until - 600_000;
    expect(blockedAt).toBeGreaterThanOrEqual(began);
    // In whole seconds, rounded up.
    expect(blockedAt).toBeLessThan(json.at + 1_000);
    const silent = redisStore(own.client, { prefix: "silent" });
    const limiter = createLimiter({ name: "api", limits: THREE_AN_HOUR, store: silent });
    onTestFinished(() => limiter.close());
    await writeRegistry(silent);
    const other = await nodeMount.mount({ store: silent, authorize: () => "read" });
    expect((await api(other, "control")).json.hasAllBlocks).toBe(false);
    expect((await api(other, "overview")).json).toMatchObject({
      coverage: { processes: 1, silentProcesses: 1 },
      processes: [{ reportedAt: null, isSilent: true }],
    });
  });

  test("list breakers with their policies as text", async () => {
    const { fleet, page } = await seed();
    const breaker = createBreaker({ name: "bank", store: fleet.store });
    onTestFinished(() => breaker.close());
    await fleet.report();
    const { json } = await api(page, "breakers");
    expect(json.breakers).toMatchObject([
      {
        name: "bank",
        policy: [
          "opens below 50 % success of at least 20 calls in 5 minutes, for 30 seconds; 5 trial calls",
        ],
        processes: 1,
      },
    ]);
  });

  test("list the targets of a breaker that processes have called", async () => {
    const { fleet, operator: admin, page: without } = await seed();
    const breaker = createBreaker({ name: "bank", store: fleet.store });
    onTestFinished(() => breaker.close());
    await breaker.for("eu").run(async () => "paid");
    for (const [by, state] of [
      ["eve", "disabled"],
      ["ann", "forced-open"],
    ] as const) {
      const done = { breaker: "bank", target: "us", before: { state: "closed" }, after: { state } };
      await admin.logBreakerAction(done, { by, reason: "maintenance" });
    }
    await breaker.for("us").forceOpen();
    await fleet.report();
    const authorize = () => "read" as const;
    const page = await nodeMount.mount({ store: fleet.store, authorize, createBreaker });
    await expect
      .poll(async () => (await api(page, "breakers")).json.breakers[0])
      .toMatchObject({
        hasAllTargets: true,
        targets: [
          { target: "eu", state: "closed", calls: 1, successRate: 1 },
          { target: "us", state: "forced-open", lastOrder: { state: "forced-open", by: "ann" } },
        ],
      });
    const { breakers } = (await api(page, "breakers")).json;
    expect(breakers[0].targets[0]).not.toHaveProperty("lastOrder");
    // Without `createBreaker`, the targets are unknown.
    expect((await api(without, "breakers")).json.breakers).toMatchObject([
      { hasAllTargets: false, targets: [] },
    ]);
  });

  test.each([
    ["a subject of no text", { kind: "block", limiter: "api", subject: { default: 1 } }],
    ["no subject", { kind: "setOverride", limiter: "api", subject: null }],
    ["a state that cannot be written", { kind: "reset", limiter: "api", before: ODD, after: ODD }],
    ["an override that cannot be written", { kind: "setOverride", limiter: "api", after: ODD }],
  ])("still work if the log has an entry with %s", async (_, entry) => {
    const { operator: admin, page } = await seed();
    await admin.setOverride({ limiter: "api", shadow: true });
    const line = `${Date.now()}000${JSON.stringify(entry)}`;
    await own.client.lpush("fleet:{control}:actions", line);
    const reads = ["overview", "limiter?name=api", "control", "log"];
    for (const read of reads) expect([read, (await api(page, read)).status]).toEqual([read, 200]);
    const asked = await api(page, "subject", { subject: "ann", kind: "text" });
    expect(asked.status).toBe(200);
  });

  test("list other breakers beside one with unknown options", async () => {
    const { fleet } = await seed();
    for (const [name, options] of [
      ["newer", { newOption: 1 }],
      ["odd", { trialCalls: { toString: 1 } }],
    ] as const) {
      const record = { name, policy: "x", fingerprint: name, options, targets: ["eu"] };
      const listed = { kind: "breaker", version: "9.0.0", ...record } as never;
      addToRegistry(requireStore(fleet.store), listed, () => ["eu"]);
    }
    await writeRegistry(requireStore(fleet.store));
    const authorize = () => "read" as const;
    const page = await nodeMount.mount({ store: fleet.store, authorize, createBreaker });
    const { status, json } = await api(page, "breakers");
    expect([status, json.breakers?.length]).toEqual([200, 2]);
    expect(json.breakers).toMatchObject([
      { hasAllTargets: false },
      { hasAllTargets: false, policy: ["its options cannot be read"] },
    ]);
  });

  test("page through the log, and lose no entry while it grows", async () => {
    const { operator: admin, page } = await seed();
    for (let i = 0; i < 130; i += 1) {
      await admin.addToDenyList(`10.0.0.${i}`, { by: "eve", reason: `number ${i}` });
    }
    const first = await api(page, "log");
    expect(first.json.rows).toHaveLength(100);
    expect(first.json.rows[0]).toMatchObject({
      network: "10.0.0.129",
      before: "not on the deny list",
    });
    await admin.removeFromDenyList("10.0.0.1");
    const rest = await api(page, `log?before=${first.json.next}`);
    expect([rest.json.rows.length, rest.json.next]).toEqual([30, null]);
    const reasons = [...first.json.rows, ...rest.json.rows].map(({ reason }) => reason);
    expect(new Set(reasons).size).toBe(130);
    expect((await api(page, "log?before=yesterday")).status).toBe(400);
  });

  test("describe the Redis server and show the doctor's findings", async () => {
    const fleet = createFleet(own.client);
    let asked = 0;
    const doctor = async () => {
      asked += 1;
      const finding = {
        status: "problem",
        message: "no memory",
        fix: "add some",
        commands: ["buy"],
      };
      return { checks: [{ docs: "headgate doctor --explain", findings: [finding] }] };
    };
    const page = await nodeMount.mount({ store: fleet.store, authorize: () => "read", doctor });
    expect((await api(page, "session")).json.hasDoctor).toBe(true);
    for (let i = 0; i < 2; i += 1) {
      const { json } = await api(page, "redis");
      expect(json.findings).toEqual([
        {
          level: "problem",
          title: "no memory",
          fix: "add some\nbuy",
          docs: "headgate doctor --explain",
        },
      ]);
      expect(json.server).toMatchObject({ version: expect.any(String), role: "master" });
    }
    expect(asked).toBe(1);
  });
});
