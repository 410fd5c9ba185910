import type { Limiter } from "@headgate/core";
import { createLimiter, gcra } from "@headgate/core";
import type { RedisClient } from "@headgate/core/redis";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { expect, inject, onTestFinished, test } from "vitest";
import { watchWarnings } from "../http/support/warnings.ts";
import { likeIoredis } from "../support/like-ioredis.ts";
import { reasonOf } from "./degraded-decisions.ts";

/** More than the different words that are kept in mind. */
const MANY = 101;

const PREFIX = "logged-once";

function start(client: RedisClient): Limiter {
  const limiter = createLimiter({
    name: "api",
    limits: gcra({ limit: 5, window: "1h" }),
    store: redisStore(client, { prefix: PREFIX }),
    storeTimeout: "1m",
  });
  onTestFinished(() => limiter.close());
  return limiter as Limiter;
}

function connect(): Redis {
  const client = new Redis(inject("redisSocket"));
  onTestFinished(() => client.disconnect());
  return client;
}

/** Warnings come a turn of the loop later. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

test("keys of a wrong type are logged once for many subjects, and another error gets its own line", async () => {
  const warnings = watchWarnings();
  const client = connect();
  const limiter = start(client);
  const subjects = Array.from({ length: MANY }, (_, i) => `u${i}`);
  for (const subject of subjects) await limiter.consume(subject);
  const keys = await client.keys(`${PREFIX}:{u*`);
  expect(keys).toHaveLength(MANY);
  for (const key of keys)
    await client.multi().del(key).sadd(key, "not ours").expire(key, 60).exec();
  onTestFinished(async () => void (await client.del(keys)));
  for (const subject of subjects) {
    const reason = await reasonOf(() => limiter.consume(subject));
    expect(reason.code).toBe("HEADGATE_WRONG_TYPE");
  }
  await turn();
  expect(warnings.map(({ code }) => code)).toEqual(["HEADGATE_WRONG_TYPE"]);
  // The first of them is named, for those who look for it.
  expect(warnings[0]?.message).toContain(`${PREFIX}:{u0}:api`);

  await client.acl("SETUSER", "logged-once", "on", "nopass", "~*", "&*", "+@all", "-set", "-hset");
  onTestFinished(async () => void (await client.acl("DELUSER", "logged-once")));
  await client.auth("logged-once", "any");
  const reason = await reasonOf(() => limiter.consume("somebody else"));
  expect(reason.code).toBe("HEADGATE_STORE_MISCONFIGURED");
  await turn();
  expect(warnings.map(({ code }) => code)).toEqual([
    "HEADGATE_WRONG_TYPE",
    "HEADGATE_STORE_MISCONFIGURED",
  ]);
  await client.auth("default", "any");
});

test("invalid replies are logged once, however different they are", async () => {
  const warnings = watchWarnings();
  const client = connect();
  let calls = 0;
  // A proxy that answers something of its own.
  const limiter = start(
    likeIoredis(async () => {
      calls += 1;
      await client.ping();
      return calls % 2 === 0 ? `reply ${calls}` : [Array.from({ length: calls + 1 }, () => calls)];
    }),
  );
  for (let i = 0; i < MANY; i += 1) {
    const reason = await reasonOf(() => limiter.consume("u"));
    expect(reason.code).toBe("HEADGATE_BAD_REPLY");
  }
  // The control record is read as well.
  expect(calls).toBeGreaterThan(MANY);
  await turn();
  expect(warnings.map(({ code }) => code)).toEqual(["HEADGATE_BAD_REPLY"]);
});
