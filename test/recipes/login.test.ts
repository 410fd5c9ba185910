import type { RequestListener } from "node:http";
import type { Clock, Store } from "@headgate/core";
import { memoryStore } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { beforeEach, describe, expect, test } from "vitest";
import { createFastify } from "../../examples/login-protection/fastify.ts";
import { createApp } from "../../examples/login-protection/server.ts";
import { useLongStoreTimeout } from "../support/long-store-timeout.ts";
import { useOwnDatabase } from "../support/own-database.ts";
import { serve } from "../support/serve.ts";

useLongStoreTimeout();

const isLong = process.env["HEADGATE_LONG"] === "1";

const redis = useOwnDatabase();

/** Both frameworks. */
const SERVERS = {
  express: async (store: Store): Promise<RequestListener> => createApp(store),
  fastify: async (store: Store): Promise<RequestListener> => {
    const app = createFastify(store);
    await app.ready();
    return app.routing;
  },
};

/** Where they count. */
const STORES = {
  "in memory": (clock: Clock): Store => memoryStore({ clock }),
  "on Redis": (clock: Clock): Store =>
    redisStore(redis, { prefix: `login-${Math.random()}`, clock }),
};

interface Answer {
  readonly status: number;
  readonly retryAfter: string | null;
  /** What makes the device known. */
  readonly cookie: string | undefined;
}

/** The same for each guess, or another one. */
type Each = string | ((i: number) => string);

function eachOf(each: Each, i: number): string {
  return typeof each === "string" ? each : each(i);
}

/** Addresses that no other test has. */
function network(): (host: number) => string {
  const part = () => Math.floor(Math.random() * 256);
  const start = `10.${part()}.${part()}`;
  return (host) => `${start}.${host}`;
}

/** Each server and each store once; the other pairs where there is time. */
const PAIRS: readonly (readonly [keyof typeof SERVERS, keyof typeof STORES])[] = [
  ["express", "in memory"],
  ["fastify", "on Redis"],
];
const OTHER_PAIRS: typeof PAIRS = [
  ["express", "on Redis"],
  ["fastify", "in memory"],
];

describe.each([...PAIRS, ...(isLong ? OTHER_PAIRS : [])])("behind %s, %s", (server, where) => {
  const createServer = SERVERS[server];
  const createStore = STORES[where];
  let now = Date.UTC(2030, 0, 1);
  let url: string;
  beforeEach(async () => {
    url = await serve(await createServer(createStore(() => now)));
  });

  async function login(
    from: string,
    email: string,
    password: string,
    cookie?: string,
  ): Promise<Answer> {
    const response = await fetch(`${url}/login`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "x-forwarded-for": from,
        ...(cookie !== undefined && { cookie: `theme=dark; ${cookie}` }),
      },
      body: JSON.stringify({ email, password }),
    });
    await response.arrayBuffer();
    const [device] = (response.headers.get("set-cookie") ?? "").split(";");
    const retryAfter = response.headers.get("retry-after");
    return { status: response.status, retryAfter, cookie: device || undefined };
  }

  /** Guesses one after the other; resolves with how many were answered. */
  async function guess(count: number, from: Each, email: Each, cookie?: string): Promise<number> {
    let answered = 0;
    for (let i = 0; i < count; i += 1) {
      const { status } = await login(eachOf(from, i), eachOf(email, i), "guess", cookie);
      if (status === 401) answered += 1;
    }
    return answered;
  }

  /** An account that no other test guesses at. */
  const victim = () => `victim-${Math.random().toString(36).slice(2)}@example.org`;

  test("a client that guesses at one account is locked out of that account only", async () => {
    const from = network();
    expect(await guess(12, from(1), "ada@example.org")).toBe(5);
    const right = await login(from(1), "ADA@example.org", "lovelace");
    expect(right.status).toBe(429);
    expect(Number(right.retryAfter)).toBeGreaterThan(50);
    expect(Number(right.retryAfter)).toBeLessThanOrEqual(60);
    expect(await login(from(1), "grace@example.org", "hopper")).toMatchObject({ status: 200 });
    expect(await login(from(2), "ada@example.org", "lovelace")).toMatchObject({ status: 200 });
  });

  test("an own account gives no extra guesses at others", async () => {
    const from = network();
    const [one, home] = [victim(), from(1)];
    let cookie: string | undefined;
    let guesses = 0;
    for (let i = 0; i < 30; i += 1) {
      const email = i < 12 ? one : victim();
      guesses += await guess(1, home, email, cookie);
      const own = await login(home, "mallory@example.org", "mallory", cookie);
      if (own.status === 200) cookie = own.cookie;
      if (i === 11) expect(guesses).toBe(5);
    }
    expect(cookie).toMatch(/^device=/);
    expect(guesses).toBe(20);
    // Nor does it forgive what the address did.
    const own = await login(home, "mallory@example.org", "mallory", cookie);
    expect(own.status).toBe(429);
  });

  test("one password tried on many accounts reaches the limit of its address", async () => {
    const from = network();
    expect(await guess(40, from(1), victim)).toBe(20);
    expect(await guess(1, from(2), victim)).toBe(1);
  });

  test("distributed guesses at an account are denied, and its owner can still log in", async () => {
    const from = network();
    const email = "grace@example.org";
    const everywhere = (count: number, host: number) => guess(count, (i) => from(host + i), email);
    expect(await everywhere(30, 10)).toBe(30);
    // A good login does not forgive what others did.
    const { cookie } = await login(from(1), email, "hopper");
    expect(await everywhere(40, 40)).toBe(20);
    // From home, or from elsewhere with the same device, also after mistakes of his own.
    for (const home of [1, 2]) {
      expect(await guess(4, from(home), email, cookie)).toBe(4);
      const owner = await login(from(home), email, "hopper", cookie);
      expect(owner).toMatchObject({ status: 200, cookie });
    }
    // Which gives the others nothing. A device that was never used has to wait with them.
    expect(await guess(3, (i) => from(95 + i), email)).toBe(0);
    expect(await login(from(3), email, "hopper")).toMatchObject({ status: 429 });
  });

  test("a known device counts for its own account only", async () => {
    const from = network();
    const email = victim();
    const { cookie = "" } = await login(from(1), "mallory@example.org", "mallory");
    const forged = cookie.replace(/.$/, (last) => (last === "0" ? "1" : "0"));
    const cookies = [cookie, forged, "device=", "device=00.00"];
    let guesses = 0;
    for (let i = 0; i < 60; i += 1) {
      guesses += await guess(1, () => from(10 + i), email, cookies[i % cookies.length]);
    }
    expect(guesses).toBe(50);
  });

  test("a device that guesses is locked out at any address", async () => {
    const from = network();
    const email = "mallory@example.org";
    const { cookie } = await login(from(1), email, "mallory");
    expect(await guess(8, (i) => from(2 + i), email, cookie)).toBe(5);
    expect(await login(from(20), email, "mallory", cookie)).toMatchObject({ status: 429 });
    expect(await login(from(20), email, "mallory")).toMatchObject({ status: 200 });
  });

  test("each block is longer, and does not delay a good login from elsewhere", async () => {
    const from = network();
    const waits: number[] = [];
    for (const _block of ["1m", "10m", "1h", "1h again"]) {
      expect(await guess(5, from(1), "ada@example.org")).toBe(5);
      // A failure is known to the limiter a moment after its answer.
      const seconds = async () =>
        Number((await login(from(1), "ada@example.org", "lovelace")).retryAfter);
      await expect.poll(seconds).toBeLessThanOrEqual(3_600);
      waits.push(await seconds());
      expect(await login(from(2), "ada@example.org", "lovelace")).toMatchObject({ status: 200 });
      now += (waits.at(-1) ?? 0) * 1_000;
    }
    expect(waits).toEqual([60, 600, 3_600, 3_600]);
  });

  test("a login without an account is refused", async () => {
    expect(await login(network()(1), "", "x")).toMatchObject({ status: 400 });
  });
});
