import type { ChildProcess } from "node:child_process";
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { LimiterUsage } from "@headgate/core/admin";
import { readUsage } from "@headgate/core/admin";
import { requireStore } from "@headgate/core/internal";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { expect, onTestFinished, test } from "vitest";
import { ProcessUsage } from "../../packages/core/src/usage/process-usage.ts";
import { useOwnRedis } from "../support/own-redis.ts";
import type { TcpProxy } from "../support/tcp-proxy.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";
import { waitUntil } from "../support/wait-until.ts";
import { count, expectWithinBounds } from "./exact.ts";

const own = useOwnRedis();

const script = fileURLToPath(new URL("usage-process.mjs", import.meta.url));
const DECISIONS = 300;

/** Starts a process; resolves with it when it has decided, and what it was allowed. */
async function start(place: string | number, id: number, soon: boolean) {
  const env = { ...process.env, SOON: soon ? "1" : "0" };
  const child = fork(script, [String(place), String(DECISIONS), String(id)], { execArgv: [], env });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [allowed] = (await once(child, "message")) as [number];
  return { child, allowed };
}

async function end(child: ChildProcess): Promise<void> {
  child.send("close");
  await once(child, "exit");
}

async function usage(): Promise<LimiterUsage | undefined> {
  return (await readUsage(own.client)).limiters[0];
}

async function proxyOf(): Promise<TcpProxy> {
  const proxy = await startTcpProxy({ socket: own.server.socket });
  onTestFinished(() => proxy.close());
  return proxy;
}

test("the counts of eight processes add up exactly, also if one is killed before its call is confirmed", async () => {
  const proxy = await proxyOf();
  const ids = Array.from({ length: 7 }, (_, i) => i);
  const fleet = await Promise.all(ids.map((id) => start(own.server.socket, id, id % 2 === 0)));
  await Promise.all(fleet.map(({ child }) => end(child)));
  const before = DECISIONS * fleet.length;
  expect((await usage())?.total).toMatchObject({
    allowed: fleet.reduce((sum, { allowed }) => sum + allowed, 0),
    degraded: 0,
  });
  const killed = await start(proxy.port, 7, false);
  // It sends its rest, and no answer comes.
  proxy.hold("replies");
  killed.child.send("close");
  await waitUntil("the rest is counted", 20_000, async () => {
    const { allowed = 0, denied = 0 } = (await usage())?.total ?? {};
    return allowed + denied > before ? true : undefined;
  });
  killed.child.kill("SIGKILL");
  await once(killed.child, "exit");
  proxy.pass();
  const api = await usage();
  const all = [...fleet, killed];
  const allowed = all.reduce((sum, one) => sum + one.allowed, 0);
  expect(api?.total).toEqual({ allowed, denied: all.length * DECISIONS - allowed, degraded: 0 });
  const exact = new Map([["all", (all.length * DECISIONS) / 2]]);
  for (let id = 0; id < all.length; id += 1) exact.set(`own ${id}`, DECISIONS / 2);
  if (api === undefined) throw new Error("there is no usage");
  expectWithinBounds(api.subjects.used, exact);
  // So few are counted exactly.
  expect(api.subjects.used.top.every(({ error }) => error === 0)).toBe(true);
});

test("a killed process loses only its unsent counts", async () => {
  const { child, allowed } = await start(own.server.socket, 0, true);
  const sent = await waitUntil("all is sent", 20_000, async () => {
    const total = (await usage())?.total;
    return total !== undefined && total.allowed + total.denied === DECISIONS ? total : undefined;
  });
  expect(sent.allowed).toBe(allowed);
  child.kill("SIGKILL");
  await once(child, "exit");
  expect((await usage())?.total).toEqual(sent);
});

const clients = {
  "that sends the same again by itself": {},
  "that leaves it to us": {
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: () => 5,
  },
};

test.each(Object.entries(clients))(
  "replies that are lost make nothing count twice, with a client %s",
  async (_, options) => {
    const proxy = await proxyOf();
    const client = new Redis(proxy.port, options);
    client.on("error", () => {});
    onTestFinished(() => client.disconnect());
    const store = requireStore(redisStore(client));
    const usageOfProcess = new ProcessUsage("hg", (error) => {
      if (error.code !== "HEADGATE_STORE_UNAVAILABLE") throw error;
    });
    const api = usageOfProcess.add(store, "api", "plain");
    const exact = new Map<string, number>();
    const turns = 20;
    for (let turn = 0; turn < turns; turn += 1) {
      for (let i = 0; i < 10; i += 1) {
        api.record({ default: `${i % 3}` }, {
          wouldAllow: i < 7,
          degraded: false,
          limits: [{ allowed: i < 7, per: "default" }],
        } as never);
        count(exact, `${i % 3}`);
      }
      if (client.status !== "ready") await once(client, "ready");
      const { cut } = proxy.counts;
      if (turn % 2 === 0) proxy.cutReply(0);
      await usageOfProcess.send();
      expect(proxy.counts.cut).toBe(turn % 2 === 0 ? cut + 1 : cut);
    }
    if (client.status !== "ready") await once(client, "ready");
    await usageOfProcess.remove("api");
    const found = await usage();
    expect(found?.total).toEqual({ allowed: turns * 7, denied: turns * 3, degraded: 0 });
    if (found !== undefined) expectWithinBounds(found.subjects.used, exact);
  },
);
