import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { createLimiter, gcra } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, beforeEach, expect, onTestFinished, test } from "vitest";
import { watchWarnings } from "../http/support/warnings.ts";
import type { RedisProcess } from "../support/redis-process.ts";
import { startRedis } from "../support/redis-process.ts";

/** Probes that fail at once are at most half a second apart: time for two of them. */
const SOME_PROBES_MS = 1_200;

const script = fileURLToPath(new URL("ending-process.mjs", import.meta.url));
const limits = gcra({ limit: 5, window: "1h" });

let server: RedisProcess;
beforeAll(async () => {
  server = await startRedis();
});
beforeEach(() => void watchWarnings());
afterEach(async () => {
  server.thaw();
  if (server.state === "ended") await server.restart();
});
afterAll(() => server.stop());

/** A client whose calls are counted, and fail at once where there is no connection. */
async function countCalls() {
  const redis = new Redis(server.socket, {
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
  });
  redis.on("error", () => {});
  onTestFinished(() => redis.disconnect());
  await once(redis, "ready");
  let calls = 0;
  const client = new Proxy(redis, {
    get(target, name) {
      if (name === "evalshaBuffer" || name === "evalBuffer") calls += 1;
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  const store = redisStore(client);
  // To know a client its methods are looked at, once.
  calls = 0;
  return { store, calls: () => calls };
}

/** Counts the calls sent while there are no requests. */
async function callsAtRest(calls: () => number): Promise<number> {
  const before = calls();
  await new Promise((resolve) => setTimeout(resolve, SOME_PROBES_MS));
  return calls() - before;
}

test("an open limiter probes its unavailable store, and a closed one does not", async () => {
  const { store, calls } = await countCalls();
  const limiter = createLimiter({ name: "open", limits, store });
  await limiter.consume("u");
  await server.kill();
  expect(await limiter.consume("u")).toMatchObject({ degraded: true });
  const other = createLimiter({ name: "other", limits, store });
  await limiter.close();
  // The other one still counts there.
  expect(await callsAtRest(calls)).toBeGreaterThan(0);
  await other.close();
  expect(await callsAtRest(calls)).toBe(0);
});

test("calls in flight when a limiter closes are answered in time, and the store is not probed afterwards", async () => {
  const { store, calls } = await countCalls();
  const limiter = createLimiter({ name: "under way", limits, store });
  await limiter.consume("u");
  server.freeze();
  const pending = limiter.consume("u");
  await limiter.close();
  expect(await pending).toMatchObject({ source: "local", degraded: true });
  expect(await callsAtRest(calls)).toBe(0);
});

test("a process that closed its limiter and its client during an outage ends by itself", async () => {
  const child = fork(script, [server.socket], { silent: true, execArgv: [] });
  let stderr = "";
  child.stderr?.setEncoding("utf8").on("data", (chunk: string) => {
    stderr += chunk;
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const gone = once(child, "exit", { signal: AbortSignal.timeout(20_000) });
  expect(await once(child, "message")).toContain("connected");
  server.freeze();
  child.send("go");
  expect(await once(child, "message")).toContain("local");
  expect(await gone, stderr).toEqual([0, null]);
  expect(stderr).toContain("HEADGATE_STORE_DOWN");
});
