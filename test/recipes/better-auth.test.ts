import { redisStore } from "@headgate/core/redis";
import { memoryAdapter } from "better-auth/adapters/memory";
import { beforeEach, expect, test } from "vitest";
import { createAuth } from "../../examples/better-auth/auth.ts";
import { page } from "../docs/markdown.ts";
import { useLongStoreTimeout } from "../support/long-store-timeout.ts";
import { useOwnDatabase } from "../support/own-database.ts";

useLongStoreTimeout();

const redis = useOwnDatabase();

const HERE = "203.0.113.1";
const RIGHT = "lovelace-1815";

/** As it is stored, for speed: nothing here depends on the hash. */
const password = {
  hash: async (text: string) => text,
  verify: async ({ hash, password: given }: { hash: string; password: string }) => hash === given,
};

let now: number;
let fleet: ReturnType<typeof createAuth>[];
beforeEach(async () => {
  now = Date.UTC(2030, 0, 1);
  const prefix = `auth-${Math.random()}`;
  const database = memoryAdapter({ user: [], session: [], account: [], verification: [] });
  // Two processes with one database.
  fleet = [1, 2].map(() =>
    createAuth(redisStore(redis, { prefix, clock: () => now }), {
      database,
      emailAndPassword: { enabled: true, password },
    }),
  );
  for (const name of ["ada", "grace"]) {
    const body = { name, email: `${name}@example.org`, password: RIGHT };
    await fleet[0]?.api.signUpEmail({ body });
  }
});

let requests = 0;

/** Sends a request, to one process after another. */
async function post(path: string, body: object, ip: string): Promise<Response> {
  requests += 1;
  const headers = {
    "content-type": "application/json",
    "x-forwarded-for": ip,
    origin: "http://localhost:3000",
  };
  const url = `http://localhost:3000/api/auth${path}`;
  const request = new Request(url, { method: "POST", headers, body: JSON.stringify(body) });
  return fleet[requests % 2]?.handler(request) as Promise<Response>;
}

async function signIn(password: string, { email = "ada@example.org", ip = HERE } = {}) {
  return post("/sign-in/email", { email, password }, ip);
}

async function statuses(count: number, password: string, from?: { email?: string; ip?: string }) {
  const all: number[] = [];
  for (let i = 0; i < count; i += 1) all.push((await signIn(password, from)).status);
  return all;
}

const repeat = (status: number, times: number) => Array.from({ length: times }, () => status);

test("after five guesses at an account from one address, even the right password is denied", async () => {
  expect(await statuses(5, "guess-1815")).toEqual(repeat(401, 5));
  const denied = await signIn(RIGHT);
  expect(denied.status).toBe(429);
  expect(denied.headers.get("retry-after")).toBe("900");
  expect(await denied.json()).toMatchObject({
    message: "Too many attempts. Please try again later.",
  });
  // Written in another way, it is the same account.
  expect(await statuses(1, RIGHT, { email: "ADA@example.org" })).toEqual([429]);
  expect(await statuses(1, RIGHT, { ip: "203.0.113.2" })).toEqual([200]);
  expect(await statuses(1, RIGHT, { email: "grace@example.org" })).toEqual([200]);
});

test("a right password costs nothing", async () => {
  expect(await statuses(8, RIGHT)).toEqual(repeat(200, 8));
  expect(await statuses(5, "guess-1815")).toEqual(repeat(401, 5));
});

test("concurrent guesses are counted while they are checked", async () => {
  const all = await Promise.all(Array.from({ length: 12 }, () => signIn("guess-1815")));
  expect(all.filter(({ status }) => status === 401)).toHaveLength(5);
  expect(all.filter(({ status }) => status === 429)).toHaveLength(7);
});

test("an address has twenty guesses for all accounts, and an account fifty from all addresses", async () => {
  for (let i = 0; i < 20; i += 1) {
    expect(await statuses(1, "guess-1815", { email: `user-${i}@example.org` })).toEqual([401]);
  }
  expect(await statuses(1, RIGHT, { email: "grace@example.org" })).toEqual([429]);
  for (let i = 1; i <= 10; i += 1) {
    expect(await statuses(5, "guess-1815", { ip: `198.51.100.${i}` })).toEqual(repeat(401, 5));
  }
  const denied = await signIn(RIGHT, { ip: "198.51.100.11" });
  expect([denied.status, denied.headers.get("retry-after")]).toEqual([429, "3600"]);
});

test("a request without an e-mail is rejected by better-auth itself, and costs nothing", async () => {
  for (const email of [undefined, 7, ["ada@example.org"]]) {
    const { status } = await post("/sign-in/email", { email, password: RIGHT }, HERE);
    expect(status).toBe(400);
  }
});

test("a sign-in from the server's own code is counted by its headers", async () => {
  const headers = new Headers({ "x-forwarded-for": HERE });
  const body = { email: "ada@example.org", password: "guess-1815" };
  const guess = () => fleet[0]?.api.signInEmail({ body, headers });
  for (let i = 0; i < 5; i += 1) await expect(guess()).rejects.toMatchObject({ statusCode: 401 });
  await expect(guess()).rejects.toMatchObject({ statusCode: 429 });
  expect(await statuses(1, RIGHT)).toEqual([429]);
});

test("better-auth's own rules are counted for the whole fleet", async () => {
  const signUp = (i: number) => {
    const body = { name: "mallory", email: `mallory-${i}@example.org`, password: RIGHT };
    return post("/sign-up/email", body, HERE);
  };
  for (let i = 0; i < 3; i += 1) expect((await signUp(i)).status).toBe(200);
  const denied = await signUp(3);
  expect(denied.status).toBe(429);
  expect(Number(denied.headers.get("x-retry-after"))).toBeGreaterThan(0);
});

test("the page shows the real response", async () => {
  await statuses(5, "guess-1815");
  const { text } = page("docs/recipes/login.md");
  const denied = await signIn(RIGHT);
  expect(text).toContain(`Retry-After: ${denied.headers.get("retry-after")}\n`);
  expect(text).toContain(`\n${await denied.text()}\n`);
});
