import type { Limit, Limiter } from "@headgate/core";
import { concurrency, createLimiter, fixedWindow, gcra, slidingLog } from "@headgate/core";
import type { Admin } from "@headgate/core/admin";
import { createAdmin } from "@headgate/core/admin";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { RedisProcess } from "../support/redis-process.ts";
import { startRedis } from "../support/redis-process.ts";
import { blocksOf, page } from "./markdown.ts";

/** The users that both pages create, in their order. */
const [application, reader, operator] = [
  page("docs/reference/redis.md"),
  page("docs/how-to/operate.md"),
].flatMap((it) =>
  blocksOf([it], "text")
    .map(({ text }) => text.trim())
    .filter((text) => text.startsWith("ACL SETUSER")),
);

const limits: Limit[] = [
  gcra({ limit: 100, window: "1h" }),
  fixedWindow({ limit: 1_000, window: "month" }),
  slidingLog({ limit: 500, window: "1d" }),
  concurrency({ limit: 5, ttl: "1m" }),
];
const api = { name: "api", limits };

let server: RedisProcess;
let admin: Redis;
const clients: Redis[] = [];

beforeAll(async () => {
  server = await startRedis();
  admin = new Redis(server.socket);
});
afterAll(async () => {
  for (const client of clients) client.disconnect();
  admin.disconnect();
  await server.stop();
});
beforeEach(() => admin.flushall());

/** Connects as the user that a line of the page creates. */
async function connectAs(acl = ""): Promise<Redis> {
  const [command = "", ...args] = acl.split(" ");
  await admin.call(command, ...args);
  const [, username = ""] = args;
  const client = new Redis(server.socket, {
    username,
    password: "secret",
    enableReadyCheck: false,
    disableClientInfo: true,
  });
  clients.push(client);
  return client;
}

function limiterOn(client: Redis): Limiter {
  return createLimiter({ ...api, store: redisStore(client), storeTimeout: "1m" });
}

/** Runs every action that changes something. */
const actions: Record<string, (operator: Admin) => Promise<unknown>> = {
  reset: (by) => by.reset(api, "ann"),
  block: (by) => by.block(api, "ann", "1h"),
  unblock: (by) => by.unblock(api, "ann"),
  setOverride: (by) => by.setOverride({ limiter: "api", shadow: true }),
  unsetOverride: (by) => by.unsetOverride({ limiter: "api" }),
  forget: (by) => by.forget(api, "ann"),
  breaker: (by) => by.logBreakerAction({ breaker: "b", target: "t", before: null, after: null }),
};

describe("an application", () => {
  test("sees the actions of operators", async () => {
    const limiter = limiterOn(await connectAs(application));
    await createAdmin(redisStore(admin)).block(api, "ann", "1h");
    expect(await limiter.consume("ann")).toMatchObject({ blocked: true, source: "store" });
    await limiter.close();
  });

  test("can neither act nor read the log", async () => {
    const by = createAdmin(redisStore(await connectAs(application)));
    const code = "HEADGATE_STORE_MISCONFIGURED";
    for (const act of Object.values(actions)) await expect(act(by)).rejects.toMatchObject({ code });
    await expect(by.log()).rejects.toMatchObject({ code });
    expect(await admin.exists("hg:{control}")).toBe(0);
  });
});

describe("a reader", () => {
  test("sees everything", async () => {
    const limiter = limiterOn(admin);
    await limiter.consume("ann");
    await createAdmin(redisStore(admin)).block(api, "ann", "1h");
    const client = await connectAs(reader);
    const by = createAdmin(redisStore(client));
    const { limits: states, blocked } = await by.inspect(api, "ann");
    expect(blocked).toBe(true);
    expect(await by.peek(api, "ann")).toMatchObject({ blocked: true });
    expect(states.map(({ remaining }) => remaining)).toEqual([99, 999, 499, 4]);
    expect((await by.readControl()).invalidations).toHaveLength(1);
    expect((await by.log()).entries).toHaveLength(1);
    await limiter.close();
    const looking = limiterOn(client);
    expect(await looking.peek("ann")).toMatchObject({ blocked: true, degraded: false });
    await looking.close();
  });

  test.each(Object.keys(actions))("can change nothing: %s", async (name) => {
    const limiter = limiterOn(admin);
    await limiter.consume("ann");
    await limiter.block("ann", "1h");
    const before = await admin.dump("hg:{control}");
    const by = createAdmin(redisStore(await connectAs(reader)));
    await expect(actions[name]?.(by)).rejects.toMatchObject({
      code: "HEADGATE_STORE_MISCONFIGURED",
    });
    expect(await limiter.peek("ann", { cost: 0 })).toMatchObject({ blocked: true });
    expect(await admin.dump("hg:{control}")).toEqual(before);
    expect(await admin.exists("hg:{control}:actions")).toBe(0);
    await limiter.close();
  });
});

describe("an operator", () => {
  test("can do everything, and the log names the user", async () => {
    const limiter = limiterOn(admin);
    await limiter.consume("ann");
    const by = createAdmin(redisStore(await connectAs(operator)));
    for (const act of Object.values(actions)) await act(by);
    const { entries } = await by.log();
    expect(entries.map(({ kind }) => kind)).toEqual(Object.keys(actions).reverse());
    for (const { aclUser } of entries) expect(aclUser).toBe("headgate-operator");
    await by.inspect(api, "ann");
    await by.peek(api, "ann");
    await by.readControl();
    await limiter.close();
  });

  test("needs exactly the documented permissions", async () => {
    const common = application?.split(" ") ?? [];
    const more = operator?.split(" ").filter((word) => !common.includes(word)) ?? [];
    const needed = ["+hdel", "+lpush", "+ltrim", "+lrange"];
    expect(more).toEqual(["headgate-operator", ...needed, "+acl|whoami"]);
    for (const permission of needed) {
      // A subject in usage, to be forgotten.
      const counted = createLimiter({
        ...api,
        store: redisStore(admin, { usage: true }),
        storeTimeout: "1m",
      });
      await counted.consume("ann");
      await counted.close();
      const by = createAdmin(redisStore(await connectAs(operator?.replace(`${permission} `, ""))));
      const all = async () => {
        for (const act of Object.values(actions)) await act(by);
        await by.log();
      };
      await expect(all(), permission).rejects.toMatchObject({
        code: "HEADGATE_STORE_MISCONFIGURED",
      });
      await admin.acl("DELUSER", "headgate-operator");
    }
    // Without the last permission, the log does not contain the user's name.
    const by = createAdmin(redisStore(await connectAs(operator?.replace(" +acl|whoami", ""))));
    await by.reset(api, "ann");
    expect((await by.log()).entries[0]).not.toHaveProperty("aclUser");
  });
});
