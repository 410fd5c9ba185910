import { createLimiter, fixedWindow } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { expect, onTestFinished, test, vi } from "vitest";
import { startRedis } from "../support/redis-process.ts";
import { sendUsage } from "../support/send-usage.ts";

test("a server whose memory is full stores no usage, and usage is stored again later", async () => {
  const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
  const server = await startRedis();
  onTestFinished(() => server.stop());
  const client = new Redis(server.socket);
  onTestFinished(() => client.disconnect());
  const store = redisStore(client, { usage: true, registry: false });
  const limits = fixedWindow({ limit: 5, window: "1h" });
  const limiter = createLimiter({ name: "api", limits, store });
  await limiter.consume("ann");
  const usageKeys = async () => (await client.keys("hg:{usage}*")).sort();

  await client.config("SET", "maxmemory", "1");
  await sendUsage(store);
  expect(await usageKeys()).toEqual([]);
  expect(warned).toHaveBeenCalledWith(
    expect.stringContaining("OOM"),
    expect.objectContaining({ code: "HEADGATE_USAGE_REFUSED" }),
  );

  await client.config("SET", "maxmemory", "0");
  await sendUsage(store);
  expect(await usageKeys()).not.toEqual([]);
  await limiter.close();
});
