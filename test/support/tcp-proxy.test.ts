import { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { RedisProcess } from "./redis-process.ts";
import { startRedis } from "./redis-process.ts";
import type { TcpProxy } from "./tcp-proxy.ts";
import { startTcpProxy } from "./tcp-proxy.ts";
import { waitUntil } from "./wait-until.ts";

let server: RedisProcess;
let direct: Redis;
let proxy: TcpProxy;
let client: Redis;

beforeAll(async () => {
  server = await startRedis();
  direct = new Redis(server.socket);
});
afterAll(async () => {
  direct.disconnect();
  await server.stop();
});
beforeEach(async () => {
  await direct.flushall();
  proxy = await startTcpProxy(server);
  client = new Redis(proxy.port, "127.0.0.1", {
    retryStrategy: () => null,
    maxRetriesPerRequest: 0,
  });
  client.on("error", () => {});
  await client.ping();
});
afterEach(async () => {
  client.disconnect();
  await proxy.close();
  await proxy.close();
});

async function isAnswered(answer: Promise<unknown>, withinMs = 100): Promise<boolean> {
  const late = new Promise<boolean>((resolve) => setTimeout(resolve, withinMs, false));
  return Promise.race([answer.then(() => true), late]);
}

describe("a proxy between a client and a server", () => {
  test("passes and counts bytes", async () => {
    const before = { ...proxy.counts };
    await client.set("key", "value");
    expect(await client.get("key")).toBe("value");
    expect(proxy.counts.requestBytes - before.requestBytes).toBe(
      "*3\r\n$3\r\nset\r\n$3\r\nkey\r\n$5\r\nvalue\r\n*2\r\n$3\r\nget\r\n$3\r\nkey\r\n".length,
    );
    expect(proxy.counts.replyBytes - before.replyBytes).toBe("+OK\r\n$5\r\nvalue\r\n".length);
    expect(proxy.counts).toMatchObject({ accepted: 1, open: 1, cut: 0, swallowedBytes: 0 });
  });

  test("delays replies, in order, also while the delay changes", async () => {
    proxy.delayReplies(80);
    const start = performance.now();
    const first = client.incr("count");
    await waitUntil(
      "the command was executed",
      5_000,
      async () => (await direct.get("count")) ?? undefined,
    );
    proxy.delayReplies(0);
    expect(await Promise.all([first, client.incr("count")])).toEqual([1, 2]);
    expect(performance.now() - start).toBeGreaterThanOrEqual(79);
  });

  test("cuts the connection in the middle of a reply", async () => {
    await client.set("key", "value");
    const before = proxy.counts.replyBytes;
    proxy.cutReply(6);
    await expect(client.get("key")).rejects.toThrow();
    expect(proxy.counts.replyBytes - before).toBe(6);
    expect(proxy.counts).toMatchObject({ cut: 1, open: 0 });
  });

  test("loses the reply of a command that was executed", async () => {
    proxy.cutReply(0);
    await expect(client.incr("count")).rejects.toThrow();
    expect(await direct.get("count")).toBe("1");
  });

  test("holds bytes and delivers them later", async () => {
    proxy.hold();
    const held = client.incr("count");
    expect(await isAnswered(held)).toBe(false);
    expect(await direct.get("count")).toBeNull();
    proxy.pass();
    expect(await held).toBe(1);
  });

  test("holds replies only, of commands that are executed", async () => {
    proxy.hold("replies");
    const held = client.incr("count");
    expect(await isAnswered(held)).toBe(false);
    expect(await direct.get("count")).toBe("1");
    proxy.pass();
    expect(await held).toBe(1);
  });

  test("drops all bytes silently, and closes the affected connections when the network is back", async () => {
    proxy.swallow();
    const lost = client.incr("count");
    expect(await isAnswered(lost)).toBe(false);
    expect(proxy.counts.open).toBe(1);
    expect(proxy.counts.swallowedBytes).toBeGreaterThan(0);
    proxy.pass();
    await expect(lost).rejects.toThrow();
    expect(await direct.get("count")).toBeNull();
  });

  test("hides a lost server while it drops bytes", async () => {
    proxy.swallow("replies");
    await direct.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
    expect(await isAnswered(client.ping())).toBe(false);
    expect(client.status).toBe("ready");
    proxy.pass();
  });

  test("refuses new connections, keeps open ones, and accepts new ones again", async () => {
    proxy.refuse();
    expect(await client.ping()).toBe("PONG");
    const late = new Redis(proxy.port, "127.0.0.1", {
      lazyConnect: true,
      retryStrategy: () => null,
    });
    late.on("error", () => {});
    await expect(late.connect()).rejects.toThrow();
    await proxy.accept();
    await late.connect();
    expect(await late.ping()).toBe("PONG");
    expect(proxy.counts).toMatchObject({ accepted: 2, open: 2 });
    late.disconnect();
  });

  test("drops all connections", async () => {
    proxy.hold();
    const dropped = client.ping();
    proxy.drop();
    await expect(dropped).rejects.toThrow();
    expect(proxy.counts).toMatchObject({ open: 0, cut: 1 });
  });
});
