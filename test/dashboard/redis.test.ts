import { createLimiter } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import type { Permission } from "@headgate/dashboard";
import { Redis } from "ioredis";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Outage } from "../../packages/dashboard/src/api.ts";
import { useOwnRedis } from "../support/own-redis.ts";
import { sendUsage } from "../support/send-usage.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";
import { waitUntil } from "../support/wait-until.ts";
import { writeRegistry } from "../support/write-registry.ts";
import { consume, createFleet, THREE_AN_HOUR } from "./support/fleet.ts";
import { mountThroughProxy } from "./support/mount-through-proxy.ts";
import { nodeMount } from "./support/mounts.ts";
import { api } from "./support/send-request.ts";

const own = useOwnRedis();

const VIEWS = ["overview", "limiter?name=api", "breakers", "control", "log", "redis"];

describe("while Redis is unavailable", () => {
  test("each view responds 503 in time without details of the server, and recovers by itself", async () => {
    const fleet = createFleet(own.client);
    await consume(fleet.make("api", THREE_AN_HOUR), "ann", 4);
    await fleet.report();
    const { page, proxy } = await mountThroughProxy(own.server);
    const action = { kind: "reset", limiter: "api", subject: { default: "ann" } };
    const { token } = (await api(page, "preview", { action })).json;
    proxy.hold();
    // Data of the last two seconds is still cached.
    const isStatus = (view: string, status: number) => async () =>
      (await api(page, view)).status === status || undefined;
    for (const view of VIEWS) await waitUntil(`${view} is old`, 20_000, isStatus(view, 503));
    const asks = [
      ...VIEWS.map((view) => () => api(page, view)),
      () => api(page, "subject", { subject: "ann", kind: "text" }),
      () => api(page, "preview", { action }),
      () => api(page, "act", { action, reason: "r", token }),
    ];
    for (const one of asks) {
      const began = performance.now();
      const { status, json } = await one();
      expect([status, json.error.code]).toEqual([503, "HEADGATE_STORE_UNAVAILABLE"]);
      expect(json.error.message).toBe("Redis did not answer");
      expect(performance.now() - began).toBeLessThan(2_000);
    }
    const session = await api(page, "session");
    expect(session.status).toBe(200);
    proxy.pass();
    for (const view of VIEWS) {
      await waitUntil(`${view} is back`, 20_000, isStatus(view, 200));
    }
  });

  test("tells what requests get meanwhile: as the registry listed it, or else of this process's own limiters", async () => {
    const fleet = createFleet(own.client);
    const more = { limits: THREE_AN_HOUR, store: fleet.store } as const;
    const limiters = [
      createLimiter({ name: "half", localShare: 0.5, ...more }),
      createLimiter({ name: "open", onUnavailable: "allow", ...more }),
      createLimiter({ name: "shut", onUnavailable: "deny", ...more }),
    ];
    onTestFinished(async () => {
      for (const one of limiters) await one.close();
    });
    await fleet.report();
    const proxy = await startTcpProxy({ socket: own.server.socket });
    onTestFinished(() => proxy.close());
    const client = new Redis(proxy.port, { retryStrategy: () => 20 });
    client.on("error", () => {});
    onTestFinished(() => client.disconnect());
    const store = redisStore(client, { prefix: "fleet" });
    const mount = (permission: Permission) =>
      nodeMount.mount({ store, authorize: () => permission, storeTimeout: "300ms" });
    const listed = await mount("read");
    const restricted = await mount({ by: "eve", actions: [], limiters: (name) => name === "open" });
    for (const page of [listed, restricted]) expect((await api(page, "overview")).status).toBe(200);
    proxy.hold();
    const began = Date.now();
    const outageOf = async (page: string) => {
      const { status, json } = await api(page, "overview?span=30d");
      return status === 503 ? (json.outage as Outage) : undefined;
    };
    const outage = await waitUntil("Redis is away", 20_000, () => outageOf(listed));
    expect(outage).toMatchObject({
      servers: [`localhost:${proxy.port}`],
      limiters: [
        { name: "half", onUnavailable: "local", localShare: 0.5 },
        { name: "open", onUnavailable: "allow", localShare: null },
        { name: "shut", onUnavailable: "deny", localShare: null },
      ],
    });
    expect(outage.listedAt).toBeLessThanOrEqual(began);
    expect(outage.since).toBeGreaterThanOrEqual(began);
    expect((await outageOf(listed))?.since).toBe(outage.since);
    expect(await waitUntil("it is away", 20_000, () => outageOf(restricted))).toMatchObject({
      servers: [],
      limiters: [{ name: "open", onUnavailable: "allow" }],
    });
    const mine = createLimiter({ name: "mine", limits: THREE_AN_HOUR, store });
    onTestFinished(() => mine.close());
    expect(
      await waitUntil("it is away", 20_000, async () => outageOf(await mount("read"))),
    ).toMatchObject({
      limiters: [{ name: "mine", onUnavailable: "local", localShare: 1 }],
      listedAt: null,
    });
    proxy.pass();
    await waitUntil("it is back", 20_000, async () =>
      (await api(listed, "overview?span=24h")).status === 200 ? true : undefined,
    );
    proxy.hold();
    const second = await waitUntil("it is away again", 20_000, () => outageOf(listed));
    expect(second.since).toBeGreaterThan(outage.since);
  });

  test("a view that the Redis user may not read is 503 with the error's code", async () => {
    await own.client.acl("SETUSER", "nothing", "on", ">pass", "~*", "+@connection");
    const client = new Redis(own.server.socket, { username: "nothing", password: "pass" });
    client.on("error", () => {});
    onTestFinished(() => client.disconnect());
    const page = await nodeMount.mount({ store: redisStore(client), authorize: () => "read" });
    const { status, json, body } = await api(page, "overview");
    expect([status, json.error.code]).toEqual([503, "HEADGATE_STORE_MISCONFIGURED"]);
    expect(body.toString()).not.toContain("nothing");
  });
});

describe("the overview's snapshot", () => {
  /** The number of calls of each command for a view, from clients and from scripts. */
  async function commandsOf(page: string, view: string): Promise<ReadonlyMap<string, number>> {
    await own.client.config("RESETSTAT");
    expect((await api(page, view)).status).toBe(200);
    const info = await own.client.info("commandstats");
    const calls = [...info.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)];
    const ours = calls.filter(([, name]) => !/^(config|info|client)/.test(name ?? ""));
    return new Map(ours.map(([, name = "", count]) => [name, Number(count)]));
  }

  async function seed(count: number): Promise<string> {
    const store = redisStore(own.client, { prefix: `many${count}`, usage: true });
    const limiters = Array.from({ length: count }, (_, i) =>
      createLimiter({ name: `limiter-${i}`, limits: THREE_AN_HOUR, store, storeTimeout: "10s" }),
    );
    onTestFinished(async () => {
      for (const one of limiters) await one.close();
    });
    await Promise.all(limiters.map((one) => one.consume("ann")));
    await writeRegistry(store);
    await sendUsage(store);
    return nodeMount.mount({ store, authorize: () => "read", storeTimeout: "10s" });
  }

  test("takes few calls to Redis, one more for each 32 limiters, and never scans keys", async () => {
    const calls: number[] = [];
    for (const count of [10, 500]) {
      const page = await seed(count);
      // The first request loads scripts, which are other calls.
      await api(page, "overview?span=24h");
      const commands = await commandsOf(page, "overview?span=1h");
      expect([...commands.keys()]).not.toEqual(
        expect.arrayContaining([expect.stringMatching(/scan|keys/i)]),
      );
      calls.push((commands.get("evalsha") ?? 0) + (commands.get("eval") ?? 0));
    }
    const [few = 0, many = 0] = calls;
    // Each call reads at most 128 keys, and a limiter has two for each of two resolutions.
    expect(many - few).toBeLessThanOrEqual(Math.ceil((4 * 500) / 128));
  });

  test("is shared by all visitors: ten tabs cost as much as one", async () => {
    const page = await seed(10);
    await api(page, "overview?span=24h");
    const one = await commandsOf(page, "overview?span=1h");
    await own.client.config("RESETSTAT");
    await Promise.all(Array.from({ length: 10 }, () => api(page, "overview?span=1h")));
    const info = await own.client.info("commandstats");
    expect(Number(/^cmdstat_evalsha:calls=(\d+)/m.exec(info)?.[1] ?? 0)).toBe(0);
    expect(one.get("evalsha")).toBeGreaterThan(0);
  });

  test("is not read while no page is open", async () => {
    const page = await seed(10);
    await api(page, "overview");
    await own.client.config("RESETSTAT");
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    expect(await own.client.info("commandstats")).not.toContain("evalsha");
  });
});
