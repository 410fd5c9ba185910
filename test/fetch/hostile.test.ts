import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import type { Limit, Limiter } from "@headgate/core";
import {
  concurrency,
  createLimiter,
  fixedWindow,
  gcra,
  memoryStore,
  tokenBucket,
} from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import type { LimitFetchOptions } from "@headgate/fetch";
import { limitFetch, limitInterceptor } from "@headgate/fetch";
import { Redis } from "ioredis";
import { Agent, interceptors } from "undici";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { startRedis } from "../support/redis-process.ts";
import { waitUntil } from "../support/wait-until.ts";
import { startProvider, tooManyUntil, trackSent } from "./provider.ts";

const PLENTY = gcra({ limit: 10_000, window: "1s" });

function start(limits: Limit | readonly Limit[]): Limiter {
  const limiter = createLimiter({ name: "api", limits: limits as Limit });
  onTestFinished(() => limiter.close());
  return limiter as Limiter;
}

function watchUnhandled(): readonly unknown[] {
  const seen: unknown[] = [];
  const add = (error: unknown) => seen.push(error);
  process.on("unhandledRejection", add);
  onTestFinished(() => {
    process.off("unhandledRejection", add);
  });
  return seen;
}

/** Starts a server that answers with these bytes, and returns its URL. */
async function serveRaw(answer: string): Promise<string> {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => socket.end(answer));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Waits until rejections without a handler have been noticed. */
const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

describe("a path that looks like another host", () => {
  test.each(["//other/x", "http://other/x", "/\\other"])(
    "%s counts for the origin that it is sent to",
    async (path) => {
      const provider = await startProvider(() => ({}));
      const limiter = start(fixedWindow({ limit: 1, window: "1h" }));
      const hosts: string[] = [];
      const key = ({ url }: { url: URL }) => {
        hosts.push(url.host);
        return "me";
      };
      const agent = new Agent();
      onTestFinished(() => agent.destroy());
      const sent = { origin: provider.url, path, method: "OPTIONS" } as const;
      const { body } = await agent.compose(limitInterceptor({ limiter })).request(sent);
      await body.dump();
      expect((await limiter.peek(provider.url)).allowed).toBe(false);
      await (await agent.compose(limitInterceptor({ limiter, key })).request(sent)).body.dump();
      expect(hosts).toEqual([new URL(provider.url).host]);
    },
  );
});

describe("functions of the application", () => {
  test.each<[string, Partial<LimitFetchOptions>]>([
    [
      "a key that rejects beside a cost that throws",
      {
        key: async () => Promise.reject(new Error("key")),
        cost() {
          throw new Error("cost");
        },
      },
    ],
    [
      "a settle that throws what is no text",
      {
        settle() {
          throw Object.create(null);
        },
      },
    ],
  ])("leave no rejection without a handler: %s", async (_, options) => {
    const unhandled = watchUnhandled();
    const provider = await startProvider(() => ({}));
    const send = limitFetch({ limiter: start(PLENTY), ...options });
    await send(provider.url).catch(() => {});
    await nextTurn();
    expect(unhandled).toEqual([]);
  });

  test.each([Number.NaN, Number.POSITIVE_INFINITY, 1.5, 2 ** 53])(
    "that return %d as a key do not make it the subject of all calls",
    async (number) => {
      const provider = await startProvider(() => ({}));
      const send = limitFetch({ limiter: start(PLENTY), key: () => number });
      await expect(send(provider.url)).rejects.toMatchObject({ code: "HEADGATE_INVALID_KEY" });
      expect(provider.arrivals).toEqual([]);
    },
  );
});

describe("a call that holds a slot", () => {
  const LIMITS = [PLENTY, concurrency({ limit: 1, ttl: "1m" })];

  function startHeld(options: Partial<LimitFetchOptions> = {}, limits: readonly Limit[] = LIMITS) {
    const limiter = start(limits);
    const send = limitFetch({ limiter, key: () => "me", ...options });
    return { send, isFree: async () => (await limiter.peek("me")).allowed };
  }

  test.each(["HTTP/1.1 999 Request denied", "HTTP/1.1 200 日本"])(
    "resolves with any response that fetch takes: %s",
    async (line) => {
      const url = await serveRaw(`${line}\r\nset-cookie: a=1\r\nset-cookie: b=2\r\n\r\nbody`);
      const { send, isFree } = startHeld();
      const [plain, held] = [await fetch(url), await send(url)];
      for (const response of [held, held.clone()]) {
        expect([response.status, response.statusText, response.ok]).toEqual([
          plain.status,
          plain.statusText,
          plain.ok,
        ]);
        expect([...response.headers]).toEqual([...plain.headers]);
      }
      expect(await held.text()).toBe("body");
      await expect.poll(isFree).toBe(true);
    },
  );

  test("releases it when its signal aborts, although nobody reads the body", async () => {
    const provider = await startProvider(() => ({ body: "body" }));
    const { send, isFree } = startHeld();
    const abort = new AbortController();
    await send(provider.url, { signal: abort.signal });
    expect(await isFree()).toBe(false);
    abort.abort();
    await expect.poll(isFree).toBe(true);
  });

  test("releases it at once if the response has no content, or the application reads it in settle or fetch", async () => {
    const provider = await startProvider(() => ({ headers: { "content-length": "0" }, body: "" }));
    const empty = startHeld();
    await empty.send(provider.url);
    await expect.poll(empty.isFree).toBe(true);

    const settling = startHeld({
      async settle(response) {
        await response.text();
        return undefined;
      },
    });
    expect((await settling.send((await startProvider(() => ({}))).url)).bodyUsed).toBe(true);
    await expect.poll(settling.isFree).toBe(true);

    const headers = { "x-github-request-id": "1", "content-type": "application/json" };
    const reading = startHeld({
      async fetch() {
        const response = new Response("{}", { status: 403, headers });
        await response.text();
        return response;
      },
    });
    expect((await reading.send("http://127.0.0.1/")).status).toBe(403);
    await expect.poll(reading.isFree).toBe(true);
  });

  test.each([undefined, {}, { status: 200, headers: new Headers(), body: {} }])(
    "releases it if its fetch resolves with %o instead of a response",
    async (made) => {
      const { send, isFree } = startHeld({ fetch: async () => made as never });
      await expect(send("http://127.0.0.1/")).rejects.toThrow(TypeError);
      await expect.poll(isFree).toBe(true);
    },
  );

  test("holds it until the body is read if its ttl is longer than any timer", async () => {
    const provider = await startProvider(() => ({ body: "body" }));
    const { send, isFree } = startHeld({}, [PLENTY, concurrency({ limit: 1, ttl: "30d" })]);
    const response = await send(provider.url);
    await delay(50);
    expect(await isFree()).toBe(false);
    await response.text();
    await expect.poll(isFree).toBe(true);
  });
});

test("after a cooldown, one call goes first, although one that was sent before its block is on its way", async () => {
  let answer: () => void = () => {};
  const provider = await startProvider((number) => {
    if (number === 0) return { status: 429, headers: { "retry-after": "2.2" } };
    if (number === 1) return { begins: new Promise(() => {}) };
    return {
      begins: new Promise<void>((resolve) => {
        answer = resolve;
      }),
    };
  });
  const limiter = start(PLENTY);
  const send = limitFetch({ limiter, retries: 0 });
  const abort = new AbortController();
  let early: Promise<unknown> | undefined;
  const { block } = limiter;
  limiter.block = async (...given) => {
    early = send(provider.url, { signal: abort.signal }).catch(() => {});
    await waitUntil("a call is sent before the block", 5_000, () => provider.arrivals[1]);
    return block(...given);
  };
  await send(provider.url);
  const calls = [send(provider.url), send(provider.url)];
  await waitUntil("the first call after the cooldown is sent", 5_000, () => provider.arrivals[2]);
  await delay(200);
  expect(provider.arrivals).toHaveLength(3);
  answer();
  await waitUntil("the other call is sent", 5_000, () => provider.arrivals[3]);
  answer();
  expect((await Promise.all(calls)).map(({ status }) => status)).toEqual([200, 200]);
  abort.abort();
  await early;
});

describe("what an answer says is left", () => {
  test("is not charged to the window after the one that it is about", async () => {
    let now = Date.now();
    const limiter = createLimiter({
      name: "api",
      store: memoryStore({ clock: () => now }),
      limits: fixedWindow({ limit: 100, window: "1h" }),
    });
    onTestFinished(() => limiter.close());
    let answer: () => void = () => {};
    const provider = await startProvider(() => ({
      headers: { "x-ratelimit-limit": "100", "x-ratelimit-remaining": "3" },
      begins: new Promise<void>((resolve) => {
        answer = resolve;
      }),
    }));
    await limiter.consume(provider.url, { cost: 94 });
    const call = limitFetch({ limiter })(provider.url);
    await waitUntil("the call is sent", 5_000, () => provider.arrivals[0]);
    // One unit of the limiter is left that the provider has counted for another program, and then the window ends.
    now += 3_600_000;
    answer();
    await call;
    await expect
      .poll(async () => (await limiter.peek(provider.url, { cost: 0 })).remaining)
      .toBe(98);
  });
});

describe("a request that was redirected", () => {
  test("is not charged what another API says is left", async () => {
    const left = (remaining: number) => ({
      headers: { "x-ratelimit-limit": "100", "x-ratelimit-remaining": String(remaining) },
    });
    const files = await startProvider(() => left(1));
    const provider = await startProvider((number) =>
      number === 0 ? { status: 302, headers: { location: files.url } } : left(50),
    );
    const limiter = start(fixedWindow({ limit: 100, window: "1h" }));
    const send = limitFetch({ limiter });
    expect((await send(provider.url)).url).toBe(`${files.url}/`);
    await send(provider.url);
    await expect
      .poll(async () => (await limiter.peek(provider.url, { cost: 0 })).remaining)
      .toBe(50);
  });

  test.each([
    ["POST", {}, 1],
    ["POST", { "idempotency-key": "k1" }, 2],
    ["PUT", {}, 2],
  ])("to a refusal: %s with the headers %o is sent %d times", async (method, headers, times) => {
    let isLimited = true;
    const provider = await startProvider((_, request) => {
      if (request.method === method) return { status: 303, headers: { location: "/made" } };
      return isLimited ? { status: 429, headers: { "retry-after": "0.02" } } : {};
    });
    const sent: string[] = [];
    const send = limitFetch({
      limiter: start(PLENTY),
      async fetch(...given) {
        sent.push(method);
        const response = await fetch(...given);
        isLimited = false;
        return response;
      },
    });
    const { status } = await send(provider.url, { method, headers, body: "order" });
    expect([status, sent.length]).toEqual([times === 1 ? 429 : 200, times]);
  });
});

test("a POST that undici redirected to a refusal is not sent again", async () => {
  const provider = await startProvider((number) => {
    if (number === 0) return { status: 303, headers: { location: "/made" } };
    return number === 1 ? { status: 429, headers: { "retry-after": "0.02" } } : {};
  });
  const agent = new Agent();
  onTestFinished(() => agent.destroy());
  const dispatcher = agent.compose(
    interceptors.redirect({ maxRedirections: 3 }),
    limitInterceptor({ limiter: start(PLENTY) }),
  );
  const sent = { origin: provider.url, path: "/", method: "POST", body: "order" } as const;
  const { statusCode, body } = await dispatcher.request(sent);
  await body.dump();
  expect(statusCode).toBe(429);
  expect(provider.arrivals.map(({ method }) => method)).toEqual(["POST", "GET"]);
});

describe("a fetch whose Redis goes away", () => {
  async function startWithRedis(limits: Limit) {
    const server = await startRedis();
    onTestFinished(() => server.stop());
    const client = new Redis(server.socket, { maxRetriesPerRequest: null });
    client.on("error", () => {});
    const limiter = createLimiter({ name: "api", store: redisStore(client), limits });
    onTestFinished(async () => {
      await limiter.close();
      client.disconnect();
    });
    const stop = async () => {
      await server.stop();
      await waitUntil("the limiter decides without Redis", 20_000, async () => {
        const { degraded } = await limiter.peek("someone else");
        return degraded || undefined;
      });
    };
    return { limiter: limiter as Limiter, stop };
  }

  test("keeps to the limit when a cooldown ends that only this process holds", async () => {
    const { limiter, stop } = await startWithRedis(
      tokenBucket({ capacity: 2, refill: 1, every: "50ms" }),
    );
    let until = 0;
    const provider = await startProvider((number) => {
      if (number === 3) until = performance.now() + 700;
      return performance.now() < until ? tooManyUntil(until) : {};
    });
    const sent = trackSent();
    const send = limitFetch({ limiter, fetch: sent.fetch });
    await send(provider.url);
    await stop();
    await Promise.all(Array.from({ length: 24 }, async () => (await send(provider.url)).text()));
    const late = sent.times.filter((time) => time > until - 20);
    expect(late.length).toBeGreaterThan(12);
    const spanMs = (late.at(-1) as number) - (late[0] as number);
    // The bucket gives two at once, and then one each 50 ms; one more of them may be sent late.
    expect(late.length).toBeLessThanOrEqual(2 + spanMs / 50 + 1);
  });
});

describe("a refusal whose body does not end", () => {
  const never = new Promise(() => {});
  const github = { "x-github-request-id": "1", "content-type": "application/json" };

  /** Sends a request, and resolves with the status of its response. */
  const WAYS: Readonly<Record<string, (limiter: Limiter, url: string) => Promise<number>>> = {
    async fetch(limiter, url) {
      const response = await limitFetch({ limiter, retries: 0 })(url);
      await response.body?.cancel();
      return response.status;
    },
    async undici(limiter, url) {
      const agent = new Agent();
      onTestFinished(() => agent.destroy());
      const dispatcher = agent.compose(limitInterceptor({ limiter }));
      const sent = { origin: url, path: "/", method: "GET" } as const;
      const { statusCode, body } = await dispatcher.request(sent);
      body.on("error", () => {}).destroy();
      return statusCode;
    },
  };

  test.each([
    ["fetch", "60", {}],
    ["fetch", undefined, github],
    ["undici", "60", {}],
    ["undici", undefined, github],
  ])(
    "reaches the application of %s, and holds back the others: Retry-After %s, headers %o",
    async (way, wait, headers) => {
      vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
      onTestFinished(() => {
        vi.useRealTimers();
      });
      const provider = await startProvider(() => ({
        status: 429,
        headers: { ...headers, ...(wait && { "retry-after": wait }) },
        body: "{}",
        ends: never,
      }));
      const limiter = start(PLENTY);
      const isBlocked = async () => (await limiter.peek(provider.url)).blocked;
      let status: number | undefined;
      const sent = WAYS[way]?.(limiter, provider.url).then((got) => {
        status = got;
      });
      // A time in the head is heard at once, although the body has not ended.
      while (wait !== undefined && !(await isBlocked())) await delay(5);
      while (status === undefined) {
        vi.advanceTimersByTime(1_000);
        await delay(5);
      }
      await sent;
      expect(status).toBe(429);
      expect(await isBlocked()).toBe(true);
    },
  );
});
