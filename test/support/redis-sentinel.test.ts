import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { RedisSentinel } from "./redis-sentinel.ts";
import { startSentinel } from "./redis-sentinel.ts";

describe("a test primary with Sentinels", () => {
  let sentinel: RedisSentinel;
  beforeAll(async () => {
    sentinel = await startSentinel();
  });
  afterAll(() => sentinel?.stop());

  test("fails over from a primary that was killed, and takes it back as a replica", async () => {
    const primary = await sentinel.primary();
    expect(primary).toBe(sentinel.nodes[0]);
    await primary.admin.command("SET", "key", "value");
    await primary.admin.command("WAIT", 2, 900);
    await primary.process.kill();
    const successor = await sentinel.waitForFailover(primary);
    expect(await successor.admin.command("GET", "key")).toBe("value");
    await successor.admin.command("SET", "key", "new value");
    await primary.process.restart();
    await sentinel.waitUntilReady();
    expect(await sentinel.primary()).toBe(successor);
    expect(await primary.admin.command("GET", "key")).toBe("new value");
  });

  test("fails over from a primary that was frozen, and turns it into a replica when it thaws", async () => {
    const primary = await sentinel.primary();
    primary.process.freeze();
    const successor = await sentinel.waitForFailover(primary);
    primary.process.thaw();
    await sentinel.waitUntilReady();
    expect(await sentinel.primary()).toBe(successor);
  });
});
