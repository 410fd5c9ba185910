import type { ChildProcess } from "node:child_process";
import { fork } from "node:child_process";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { EventEmitter, once } from "node:events";
import { fileURLToPath } from "node:url";
import { inspect } from "node:util";
import { CHANNELS, createLimiter, gcra } from "@headgate/core";
import { requireStore } from "@headgate/core/internal";
import { redisStore } from "@headgate/core/redis";
import { createClient } from "redis";
import { describe, expect, onTestFinished, test } from "vitest";
import { watchWarnings } from "../http/support/warnings.ts";
import { likeIoredis } from "../support/like-ioredis.ts";
import { startRedis } from "../support/redis-process.ts";

const script = fileURLToPath(new URL("client-without-listener.mjs", import.meta.url));

interface Outcome {
  /** Whether it still answered after it had seen its server go. */
  readonly survived: boolean;
  readonly stderr: string;
}

/** Starts a client's process on a Redis of its own, kills that Redis, and sees what becomes of the process. */
async function killRedisUnder(library: string, use: "store" | "none"): Promise<Outcome> {
  const server = await startRedis();
  const child = fork(script, [library, server.socket, use], { silent: true, execArgv: [] });
  // Listened to from the start: what is reported at once must not be missed.
  let stderr = "";
  child.stderr?.setEncoding("utf8").on("data", (chunk: string) => {
    stderr += chunk;
  });
  const gone = once(child, "exit");
  const closed = once(child, "close");
  const [ready] = await Promise.race([once(child, "message"), gone]);
  expect(ready, "the client connected").toBe("ready");
  await server.stop();
  const survived = await hasSurvived(child, gone, () => stderr !== "");
  child.kill("SIGKILL");
  await closed;
  return { survived, stderr };
}

/** Asks until it answers after the lost connection was reported, or is gone. */
async function hasSurvived(
  child: ChildProcess,
  gone: Promise<unknown[]>,
  hasReported: () => boolean,
): Promise<boolean> {
  for (;;) {
    if (child.exitCode !== null) return false;
    child.send("ping", () => {});
    const answer = await Promise.race([once(child, "message"), gone]);
    if (answer[0] !== "alive") return false;
    if (hasReported()) return true;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

describe.each(["redis", "redis pool", "redis5", "redis5 pool"])("a process with %s", (library) => {
  test("a process without an error listener survives the end of Redis", async () => {
    const { survived, stderr } = await killRedisUnder(library, "store");
    expect(survived, stderr).toBe(true);
    expect(stderr.match(/HEADGATE_REDIS_CLIENT_ERROR/g)).toHaveLength(1);
  });
});

test("without a store, a process without an error listener ends with Redis, which is why redisStore listens", async () => {
  const { survived, stderr } = await killRedisUnder("redis", "none");
  expect(survived).toBe(false);
  expect(stderr).toContain("Socket closed unexpectedly");
});

describe("redisStore listens for errors", () => {
  test("redisStore adds one error listener per client, however many stores use it", () => {
    const client = createClient();
    for (let i = 0; i < 20; i += 1) requireStore(redisStore(client, { prefix: `store-${i}` }));
    expect(client.listenerCount("error")).toBe(1);
  });

  test("redisStore reports no client errors if the application has its own listener", async () => {
    const warnings = watchWarnings();
    const client = createClient();
    const errors: unknown[] = [];
    client.on("error", (error) => errors.push(error));
    requireStore(redisStore(client));
    requireStore(redisStore(client, { prefix: "other" }));
    expect(client.listenerCount("error")).toBe(2);
    client.emit("error", new Error("mine"));
    await new Promise(setImmediate);
    expect(errors).toHaveLength(1);
    expect(warnings).toEqual([]);
  });

  test("redisStore reports a client's first error as a process warning with a code", async () => {
    const client = Object.assign(
      new EventEmitter(),
      likeIoredis(async () => []),
    );
    requireStore(redisStore(client));
    const warnings = watchWarnings();
    client.emit("error", new Error("ECONNREFUSED 127.0.0.1:6379"));
    client.emit("error", new Error("again"));
    client.emit("error", "not even an error");
    await new Promise(setImmediate);
    expect(warnings.map(({ code, message }) => [code, message])).toEqual([
      ["HEADGATE_REDIS_CLIENT_ERROR", expect.stringContaining("ECONNREFUSED 127.0.0.1:6379")],
    ]);
  });

  test("redisStore accepts a client that is not an event emitter", () => {
    const port = likeIoredis(async () => []);
    expect(requireStore(redisStore(port)).owner).toBe(port);
  });
});

test.each([true, false])(
  "a password is logged, because a server without HELLO quotes it: somebody else listens: %s",
  async (hasListener) => {
    const server = await startRedis({ args: ["--rename-command", "HELLO", ""] });
    onTestFinished(() => server.stop());
    const warnings = watchWarnings();
    const reasons: unknown[] = [];
    const note = (message: unknown): void => void reasons.push(message);
    subscribe(CHANNELS.degraded, note);
    onTestFinished(() => void unsubscribe(CHANNELS.degraded, note));
    const client = createClient({
      socket: { path: server.socket, tls: false },
      password: "a secret",
    });
    onTestFinished(() => client.destroy());
    if (hasListener) client.on("error", () => {});
    const limits = gcra({ limit: 5, window: "1m" });
    const limiter = createLimiter({ name: "api", limits, store: requireStore(redisStore(client)) });
    const refused = once(client, "error");
    client.connect().catch(() => {});
    await refused;
    expect((await limiter.consume("ada")).source).toBe("local");
    await new Promise(setImmediate);
    const seen = inspect([warnings, reasons], { depth: 9 });
    expect(seen).toContain("unknown command 'HELLO'");
    expect(seen).not.toContain("a secret");
  },
);
