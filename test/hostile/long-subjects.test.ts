import { createLimiter, gcra, memoryStore } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { expect, test } from "vitest";
import { useOwnRedis } from "../support/own-redis.ts";
import { expectOurKeys, FROM_REDIS } from "./redis-of-our-own.ts";

const own = useOwnRedis();
const limits = gcra({ limit: 1, window: "1h" });

/** A mebibyte, the default limit of body parsers, since `key` may read bodies. */
const MEBIBYTE = 2 ** 20;

test.each(["a", "{", "é", "€", "\ud800", "\0"])(
  "a subject of a mebibyte is decided before anybody notices: %j",
  async (sign) => {
    const limiter = createLimiter({ name: "api", limits, store: memoryStore() });
    const subject = sign.repeat(MEBIBYTE / Buffer.byteLength(sign));
    const times: number[] = [];
    for (let i = 0; i < 5; i += 1) {
      const before = process.cpuUsage();
      await limiter.consume(subject);
      const { user, system } = process.cpuUsage(before);
      times.push((user + system) / 1_000);
    }
    // Hashing takes 1 to 5 ms. Of processor time, and the best of five: a busy machine is not the limiter's fault.
    expect(Math.min(...times)).toBeLessThan(20);
    await limiter.close();
  },
);

test("a subject of seventy million characters crashes no process", async () => {
  const limiter = createLimiter({ name: "api", limits, store: memoryStore() });
  const subject = "{".repeat(70_000_000);
  expect((await limiter.consume(subject)).allowed).toBe(true);
  expect((await limiter.consume(subject)).allowed).toBe(false);
  expect((await limiter.consume(`${subject}{`)).allowed).toBe(true);
  await limiter.close();
});

test("long subjects have unique keys", async () => {
  const limiter = createLimiter({
    name: "api",
    limits,
    store: redisStore(own.client),
    ...FROM_REDIS,
  });
  const signs = ["a", "{", "é", "€", "\ud800", "\udc00", "\ufffd", "%", "💧", "\0", "\u6100"];
  const subjects = signs.flatMap((sign) =>
    [63, 64, 65, 66, 130].map((times) => sign.repeat(times)),
  );
  // Each one's escaped text, and its bytes in both orders read as something else.
  const twins = subjects.flatMap((subject) => [
    subject.replace(/[^a]/g, (unit) => `%u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`),
    Buffer.from(subject, "utf16le").toString("latin1"),
    Buffer.from(subject, "utf16le").swap16().toString("latin1"),
    Buffer.from(subject, "latin1").toString("utf16le"),
  ]);
  const all = [...new Set([...subjects, ...twins])];
  for (const subject of all) expect((await limiter.consume(subject)).allowed).toBe(true);
  expect(expectOurKeys(await own.scan(), "hg")).toHaveLength(all.length);
  await limiter.close();
});
