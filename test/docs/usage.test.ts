import { createLimiter, gcra } from "@headgate/core";
import type { Usage } from "@headgate/core/admin";
import { readBlocks, readUsage, readUsageCoverage } from "@headgate/core/admin";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { expect, onTestFinished, test } from "vitest";
import { watchWarnings } from "../http/support/warnings.ts";
import { useOwnRedis } from "../support/own-redis.ts";
import { sendUsage } from "../support/send-usage.ts";
import { writeRegistry } from "../support/write-registry.ts";
import { blocksOf, page, section } from "./markdown.ts";

const own = useOwnRedis();
const PAGE = page("docs/reference/usage.md");

/** Makes a decision and sends usage on a client of a Redis user. */
async function use(client: Redis): Promise<void> {
  const store = redisStore(client, { usage: true, registry: false });
  const limits = gcra({ limit: 1, window: "1h" });
  const limiter = createLimiter({ name: "api", store, limits, storeTimeout: "20s" });
  for (let i = 0; i < 2; i += 1) await limiter.consume("ann");
  await limiter.close();
}

/** Connects as the user that a line creates. */
async function connectAs(acl = ""): Promise<Redis> {
  const [command = "", ...args] = acl.split(" ");
  await own.client.call(command, ...args);
  const client = new Redis(own.server.socket, {
    username: args[1],
    password: "secret",
    enableReadyCheck: false,
    disableClientInfo: true,
  });
  onTestFinished(() => client.disconnect());
  return client;
}

function aclOf(path: string, user: string): string | undefined {
  return blocksOf([page(path)], "text")
    .map(({ text }) => text.trim())
    .find((text) => text.startsWith(`ACL SETUSER ${user} `));
}

function withoutTime({ at: _, ...rest }: Usage): object {
  return rest;
}

test("the reader role can read blocks, and the usage role cannot", async () => {
  const store = redisStore(own.client, { usage: true });
  const limits = gcra({ limit: 1, window: "1h", block: "1h" });
  const limiter = createLimiter({ name: "api", store, limits, storeTimeout: "20s" });
  onTestFinished(() => limiter.close());
  await writeRegistry(store);
  for (let i = 0; i < 3; i += 1) await limiter.consume("eve");
  await sendUsage(store);
  for (const user of ["headgate-reader", "headgate-operator"]) {
    const client = await connectAs(aclOf("docs/how-to/operate.md", user));
    expect((await readBlocks(client)).blocks).toMatchObject([{ limiter: "api" }]);
    expect((await readUsageCoverage(client)).reporting).toHaveLength(1);
  }
  const reader = await connectAs(aclOf("docs/reference/usage.md", "headgate-usage"));
  await expect(reader.zrange("hg:blocks{usage}", "0", "-1")).rejects.toThrow("NOPERM");
});

test("all keys in Redis have the documented prefixes and expire within the documented time", async () => {
  const monitor = await own.client.monitor();
  onTestFinished(() => monitor.disconnect());
  const lifetimes: number[] = [];
  const shown = new Promise<void>((resolve) => {
    monitor.on("monitor", (_, args: readonly string[]) => {
      const [command = "", value = "", ttl = ""] = args;
      if (command.toUpperCase() === "PEXPIRE") lifetimes.push(Number(ttl));
      if (command.toUpperCase() === "ECHO" && value === "the last") resolve();
    });
  });
  await use(own.client);
  await own.client.echo("the last");
  await shown;
  const text = section(PAGE, "In Redis");
  const [, start = ""] = /begin with `([^`]+)`/.exec(text) ?? [];
  const [, days = ""] = /expire after (\d+) days/.exec(text) ?? [];
  const keys = (await own.scan()).map(String).filter((key) => !key.includes("{ann}"));
  const kinds = [
    "",
    ":bounds/",
    ":day-denials/",
    ":denials/",
    ":denied/",
    ":hours/",
    ":minutes/",
    ":process/",
    ":seconds/",
    ":used/",
  ];
  expect(keys).toHaveLength(kinds.length);
  for (const [i, key] of keys.sort().entries()) {
    expect(key.startsWith(`${start}${kinds[i]}`), key).toBe(true);
    expect(await own.client.pttl(key)).toBeGreaterThan(0);
  }
  expect(Math.max(...lifetimes)).toBe(Number(days) * 86_400_000 + 1);
});

test("an application needs no other permissions, and the usage role sees only usage", async () => {
  const warnings = watchWarnings();
  await use(await connectAs(aclOf("docs/reference/redis.md", "headgate")));
  const expected = withoutTime(await readUsage(own.client));
  expect(expected).toMatchObject({ limiters: [{ total: { allowed: 1, denied: 1 } }] });
  const reader = await connectAs(aclOf("docs/reference/usage.md", "headgate-usage"));
  expect(withoutTime(await readUsage(reader))).toEqual(expected);
  await expect(reader.hgetall("hg:{ann}")).rejects.toThrow("NOPERM");
  await expect(reader.del("hg:{usage}")).rejects.toThrow("NOPERM");
  for (const user of ["headgate-reader", "headgate-operator"]) {
    const client = await connectAs(aclOf("docs/how-to/operate.md", user));
    expect(withoutTime(await readUsage(client))).toEqual(expected);
  }
  await new Promise((resolve) => setImmediate(resolve));
  expect(warnings).toEqual([]);
});

test("a user without the permission for usage gets a warning, and decides as usual", async () => {
  const warnings = watchWarnings();
  const counting = "+evalsha +eval +get +set +setrange +pexpire +time +hset +hmget";
  const client = await connectAs(`ACL SETUSER ann-only on >secret ~hg:{ann}* -@all ${counting}`);
  await use(client);
  await new Promise((resolve) => setImmediate(resolve));
  expect(warnings.map(({ code }) => code)).toContain("HEADGATE_USAGE_REFUSED");
  expect((await readUsage(own.client)).limiters).toEqual([]);
});
