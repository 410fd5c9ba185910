import { inspect } from "node:util";
import type { DegradedDecision, Limiter } from "@headgate/core";
import { createLimiter, gcra } from "@headgate/core";
import type { RedisClient } from "@headgate/core/redis";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { createClient } from "redis";
import { expect, onTestFinished, test } from "vitest";
import { watchWarnings } from "../http/support/warnings.ts";
import type { AdminClient } from "../support/admin-client.ts";
import { openAdminClient } from "../support/admin-client.ts";
import type { RedisProcess } from "../support/redis-process.ts";
import { startRedis } from "../support/redis-process.ts";
import { waitUntil } from "../support/wait-until.ts";
import { degradedDuring, reasonOf } from "./degraded-decisions.ts";

const OLD_PASSWORD = "correct-horse-battery";
const WITHOUT_SET = ["--user", "default", "on", "nopass", "~*", "&*", "+@all", "-set"];
const limits = gcra({ limit: 1_000, window: "1h" });

/** Clients try to connect again every two seconds at the latest, and a probe comes each half second. */
const SOON_MS = 10_000;

async function startServer(): Promise<{ server: RedisProcess; admin: AdminClient }> {
  const server = await startRedis();
  const admin = openAdminClient(server);
  onTestFinished(async () => {
    admin.close();
    await server.stop();
  });
  return { server, admin };
}

/** How each library connects; nothing of it is set for speed. */
const connect = {
  async "ioredis 6"(path: string, password?: string): Promise<RedisClient> {
    const client = new Redis({ path, ...(password === undefined ? {} : { password }) });
    client.on("error", () => {});
    onTestFinished(() => client.disconnect());
    await client.ping();
    return client;
  },
  async "node-redis 6"(path: string): Promise<RedisClient> {
    const client = createClient({ socket: { path, tls: false } });
    client.on("error", () => {});
    await client.connect();
    onTestFinished(() => client.destroy());
    return client;
  },
};

/** Makes requests until a decision meets the condition. Returns the reasons of the degraded ones before it. */
async function decideUntil(
  what: string,
  limiter: Limiter,
  isIt: (degraded: DegradedDecision | undefined) => boolean,
): Promise<Error[]> {
  const reasons: Error[] = [];
  await waitUntil(what, SOON_MS, async () => {
    const [degraded] = await degradedDuring(() => limiter.consume("u"));
    if (degraded !== undefined) reasons.push(degraded.reason);
    return isIt(degraded) ? true : undefined;
  });
  return reasons;
}

const isMisconfigured = (degraded: DegradedDecision | undefined): boolean =>
  degraded?.reason.code === "HEADGATE_STORE_MISCONFIGURED";

test.each(["ioredis 6", "node-redis 6"] as const)(
  "a server that comes back without a permission is reported as misconfigured while it is down, and used once it has the permission: %s",
  async (library) => {
    const warnings = watchWarnings();
    const codes = (): string[] => warnings.map(({ code }) => code);
    const { server, admin } = await startServer();
    const client = await connect[library](server.socket);
    const limiter = createLimiter({
      name: "api",
      limits,
      store: redisStore(client),
      storeTimeout: 300,
    }) as Limiter;
    onTestFinished(() => limiter.close());
    expect(await limiter.consume("u")).toMatchObject({ source: "store" });
    await server.kill();
    const gone = await reasonOf(() => limiter.consume("u"));
    expect(gone.code).toBe("HEADGATE_STORE_UNAVAILABLE");
    await server.restart(WITHOUT_SET);

    await decideUntil("the wrong permission is the reason", limiter, isMisconfigured);
    await decideUntil("it is still the reason", limiter, isMisconfigured);
    expect(codes()).toEqual(["HEADGATE_STORE_DOWN", "HEADGATE_STORE_MISCONFIGURED"]);
    expect(warnings[1]?.message).toMatch(/NOPERM|can't run this command|no permissions/);

    await admin.command("ACL", "SETUSER", "default", "+set");
    await decideUntil("the store decides", limiter, (degraded) => degraded === undefined);
    await new Promise(setImmediate);
    expect(codes().slice(2)).toEqual(["HEADGATE_STORE_UP"]);
  },
);

test("no error contains a password or the command that it was an argument of", async () => {
  watchWarnings();
  const { server, admin } = await startServer();
  await admin.command("CONFIG", "SET", "requirepass", OLD_PASSWORD);
  const client = await connect["ioredis 6"](server.socket, OLD_PASSWORD);
  const store = redisStore(client);
  const make = (name: string, storeTimeout: number): Limiter => {
    const limiter = createLimiter({ name, limits, store, storeTimeout }) as Limiter;
    onTestFinished(() => limiter.close());
    return limiter;
  };
  const limiter = make("api", 300);
  expect(await limiter.consume("u")).toMatchObject({ source: "store" });

  await admin.command("CONFIG", "SET", "requirepass", "another");
  const seen = new Promise<Error>((resolve) => {
    (client as Redis).once("error", resolve);
  });
  await admin.command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
  // What the client says has all of it, or this test shows nothing.
  expect(inspect(await seen)).toContain(OLD_PASSWORD);
  const reasons = await decideUntil("the server refuses", limiter, isMisconfigured);
  server.freeze();
  // A new monitor, which knows only the client's last error.
  const [late] = await degradedDuring(() => make("other", 150).consume("u"));
  if (late === undefined) throw new Error("a frozen server answered");
  expect(late.reason).toMatchObject({
    message: "the store gave no answer within 150 ms",
    cause: { message: expect.stringContaining("WRONGPASS") },
  });
  for (const reason of [...reasons, late.reason]) {
    const text = inspect(reason, { depth: 10, showHidden: true });
    expect(text).not.toContain(OLD_PASSWORD);
    expect(text).not.toMatch(/\bcommand\]?: |evalsha/);
  }
});
