import { createLimiter, slidingLog } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { useOwnRedis } from "../../test/support/own-redis.ts";
import type { RunningServer } from "../run-example.ts";
import { startServer } from "../run-example.ts";

/** Logs in from an address; resolves with the status of the answer. */
type Login = (from: string, email: string, password: string | undefined) => Promise<number>;

const own = useOwnRedis();

/** One for all tests, each of which comes from addresses of its own. */
const servers: Record<string, RunningServer> = {};

beforeAll(async () => {
  servers["in memory"] = await startServer("login/server.mjs");
  servers["on Redis"] = await startServer("login/server.mjs", { REDIS_URL: inject("redisSocket") });
  servers["on a slow Redis"] = await startServer("login/server.mjs", {
    REDIS_URL: own.server.socket,
  });
});
afterAll(async () => {
  for (const server of Object.values(servers)) await server.stop();
});

/** Logs in at one of the servers. */
function loginAt(where: string): Login {
  const run = Math.random().toString(36).slice(2);
  return async (from, email, password) => {
    const response = await fetch(`${servers[where]?.url}/login`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-forwarded-for": from },
      body: JSON.stringify({ email: email.replace("victim", `victim-${run}`), password }),
    });
    await response.arrayBuffer();
    return response.status;
  };
}

/** Checks the login in memory, and on Redis. */
function testLogin(name: string, check: (login: Login) => Promise<void>): void {
  test.each(["in memory", "on Redis"])(`${name}, %s`, (where) => check(loginAt(where)));
}

/** An address that no other run has: the counts of Redis stay. */
function network(): (host: number) => string {
  const part = () => Math.floor(Math.random() * 256);
  const start = `10.${part()}.${part()}`;
  return (host) => `${start}.${host}`;
}

testLogin("one who has an account buys no guesses with it", async (login) => {
  const home = network()(1);
  let guesses = 0;
  for (let i = 0; i < 60; i += 1) {
    if ((await login(home, `victim${i % 10}@example.org`, "guess")) === 401) guesses += 1;
    if (i % 4 === 3) await login(home, "mallory@example.org", "mallory");
  }
  expect(guesses).toBe(20);
});

testLogin("nor does one who guesses at one account only", async (login) => {
  const home = network()(1);
  let guesses = 0;
  for (let i = 0; i < 30; i += 1) {
    if ((await login(home, "victim@example.org", "guess")) === 401) guesses += 1;
    await login(home, "mallory@example.org", "mallory");
  }
  expect(guesses).toBe(5);
});

testLogin("guesses at one account from everywhere come to an end", async (login) => {
  const from = network();
  let guesses = 0;
  for (let i = 0; i < 80; i += 1) {
    if ((await login(from(i), "victim@example.org", "guess")) === 401) guesses += 1;
  }
  expect(guesses).toBe(50);
});

testLogin("one who types the right password is never in the way of the next", async (login) => {
  const home = network()(1);
  for (let i = 0; i < 30; i += 1) {
    expect(await login(home, "Ada@Example.org", "lovelace")).toBe(200);
  }
  for (let i = 0; i < 4; i += 1) await login(home, "ada@example.org", "typo");
  expect(await login(home, "ada@example.org", "lovelace")).toBe(200);
});

testLogin("a guesser elsewhere does not lock the owner out", async (login) => {
  const from = network();
  for (let i = 0; i < 9; i += 1) await login(from(66), "ada@example.org", "guess");
  expect(await login(from(66), "ada@example.org", "lovelace")).toBe(429);
  expect(await login(from(1), "ada@example.org", "lovelace")).toBe(200);
});

testLogin(
  "nobody logs in to an account that does not exist by leaving the password out",
  async (login) => {
    expect(await login(network()(1), "nobody@example.org", undefined)).toBe(401);
  },
);

testLogin("a login without an account is refused", async (login) => {
  expect(await login(network()(1), "", "x")).toBe(400);
});

test("a right password costs nothing, also if Redis is slow meanwhile", async () => {
  const login = loginAt("on a slow Redis");
  const home = network()(1);
  const counts = createLimiter({
    name: "login",
    store: redisStore(own.client, { prefix: "hg-example" }),
    limits: slidingLog({ limit: 50, window: "1h", name: "account", per: "account" }),
    storeTimeout: "10s",
  });
  const attemptsLeft = async (): Promise<number> =>
    (await counts.peek("ada@example.org", { cost: 0 })).remaining;
  expect(await login(home, "ada@example.org", "typo")).toBe(401);
  expect(await attemptsLeft()).toBe(49);
  await own.client.call("CLIENT", "PAUSE", "300", "ALL");
  expect(await login(home, "ada@example.org", "lovelace")).toBe(200);
  await expect.poll(attemptsLeft).toBe(49);
  await counts.close();
});
