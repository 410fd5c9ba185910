import type { ChildProcess } from "node:child_process";
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { gcra } from "@headgate/core";
import type { Registry } from "@headgate/core/admin";
import { readRegistry } from "@headgate/core/admin";
import { expect, onTestFinished, test } from "vitest";
import { useOwnRedis } from "../support/own-redis.ts";
import { waitUntil } from "../support/wait-until.ts";

const own = useOwnRedis();

const script = fileURLToPath(new URL("listed-process.mjs", import.meta.url));

/** What a busy machine may need to start a process. */
const SOON_MS = 20_000;

async function start(...args: readonly string[]): Promise<ChildProcess> {
  const child = fork(script, [own.server.socket, ...args], { execArgv: [] });
  onTestFinished(() => void child.kill("SIGKILL"));
  await once(child, "message");
  return child;
}

/** The registry, once it has so many processes. */
function registryOf(processes: number): Promise<Registry> {
  return waitUntil(`${processes} processes are listed`, SOON_MS, async () => {
    const registry = await readRegistry(own.client);
    return registry.processes.length === processes ? registry : undefined;
  });
}

test("processes list themselves and their different policies, and leave when they close", async () => {
  const before = await start("soon");
  const after = await start("soon", "50");
  const { limiters, breakers, processes, unreadable } = await registryOf(2);
  expect(unreadable).toEqual([]);
  const idOf = (child: ChildProcess) => processes.find(({ pid }) => pid === child.pid)?.id;
  const [five, fifty] = [5, 50].map((limit) =>
    limiters.find(
      ({ limits }) => JSON.stringify(limits) === JSON.stringify([gcra({ limit, window: "1m" })]),
    ),
  );
  expect(limiters).toHaveLength(2);
  expect(five).toMatchObject({ hasOtherVersions: true, processes: [idOf(before)] });
  expect(fifty).toMatchObject({ hasOtherVersions: true, processes: [idOf(after)] });
  expect(breakers).toMatchObject([{ name: "bank", hasOtherVersions: false }]);
  expect(breakers[0]?.processes).toHaveLength(2);
  before.send("close");
  await once(before, "exit");
  const left = await registryOf(1);
  expect(left.limiters).toMatchObject([{ hasOtherVersions: false, processes: [idOf(after)] }]);
});

test("a killed process stays listed until its record expires", async () => {
  const child = await start("soon");
  await registryOf(1);
  child.kill("SIGKILL");
  await once(child, "exit");
  expect((await readRegistry(own.client)).processes).toMatchObject([{ pid: child.pid }]);
  const [key = ""] = await own.client.keys("hg:{registry}:process/*");
  const rest = await own.client.pttl(key);
  expect(rest).toBeGreaterThan(0);
  expect(rest).toBeLessThanOrEqual(110_000);
  // As if that time were over.
  await own.client.del(key);
  expect(await readRegistry(own.client)).toMatchObject({
    limiters: [],
    processes: [],
    unreadable: [],
  });
});

test("a short process ends by itself without closing its limiter, and is never listed", async () => {
  const child = await start("later");
  const [code] = await once(child, "exit", { signal: AbortSignal.timeout(9_000) });
  expect(code).toBe(0);
  expect((await own.scan()).map(String)).toEqual([expect.stringContaining("{u}")]);
});
