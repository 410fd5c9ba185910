import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { setTimeout as delay } from "node:timers/promises";
import type { Limit, Limiter, Store } from "@headgate/core";
import {
  CHANNELS,
  createLimiter,
  fixedWindow,
  gcra,
  memoryStore,
  slidingLog,
  tokenBucket,
} from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import type { CallRetry } from "@headgate/fetch";
import { FETCH_CHANNELS, limitFetch } from "@headgate/fetch";
import { describe, expect, onTestFinished, test } from "vitest";
import { useLongStoreTimeout } from "../support/long-store-timeout.ts";
import { useOwnDatabase } from "../support/own-database.ts";
import { waitUntil } from "../support/wait-until.ts";
import { startProvider, tooManyUntil, trackSent, watchCooldowns } from "./provider.ts";

useLongStoreTimeout();
const redis = useOwnDatabase();

const PLENTY = gcra({ limit: 10_000, window: "1s" });

const STORES: Readonly<Record<string, () => Store>> = {
  "in memory": () => memoryStore(),
  "on Redis": () => redisStore(redis, { prefix: `fetch-${Math.random()}` }),
};

function start(store: Store, limits: Limit | readonly Limit[] = PLENTY, name = "api"): Limiter {
  const limiter = createLimiter({ name, store, limits: limits as Limit });
  onTestFinished(() => limiter.close());
  return limiter as Limiter;
}

/** Collects what is published about retries until the test ends. */
function watchRetries(): readonly CallRetry[] {
  const messages: CallRetry[] = [];
  const add = (message: unknown) => messages.push(message as CallRetry);
  subscribe(FETCH_CHANNELS.retry, add);
  onTestFinished(() => {
    unsubscribe(FETCH_CHANNELS.retry, add);
  });
  return messages;
}

/** Collects the limiters' decisions until the test ends. */
function watchDecisions(): readonly unknown[] {
  const messages: unknown[] = [];
  const add = (message: unknown) => messages.push(message);
  subscribe(CHANNELS.decision, add);
  onTestFinished(() => {
    unsubscribe(CHANNELS.decision, add);
  });
  return messages;
}

describe.each(Object.entries(STORES))("a fetch with a limiter %s", (_, makeStore) => {
  test("takes what fetch takes, and resolves with the provider's response", async () => {
    const provider = await startProvider((_, { url }) => ({
      status: 201,
      headers: { "x-path": `${url}` },
      body: "made",
    }));
    const send = limitFetch({ limiter: start(makeStore()) });
    const init = { method: "post", body: "one", headers: { "x-own": "1" } };
    const responses = [
      await send(`${provider.url}/text`, init),
      await send(new URL(`${provider.url}/url`), init),
      await send(new Request(`${provider.url}/request`, init)),
      await send(new Request(`${provider.url}/both`, { method: "put" }), init),
    ];
    const paths = ["/text", "/url", "/request", "/both"];
    expect(responses.map(({ url }) => url)).toEqual(paths.map((path) => provider.url + path));
    expect(responses.map(({ status }) => status)).toEqual([201, 201, 201, 201]);
    expect(responses.map(({ headers }) => headers.get("x-path"))).toEqual(paths);
    expect(await Promise.all(responses.map((one) => one.text()))).toEqual(Array(4).fill("made"));
    const aborted = new Request(provider.url, { ...init, signal: AbortSignal.abort() });
    expect((await send(aborted, { signal: null })).status).toBe(201);
    for (const { method, body, headers } of provider.arrivals) {
      expect([method.toUpperCase(), body, headers["x-own"]]).toEqual(["POST", "one", "1"]);
    }
  });

  test("rejects as fetch does, without another attempt", async () => {
    const send = limitFetch({ limiter: start(makeStore()) });
    await expect(send("no url")).rejects.toThrow(TypeError);
    await expect(send("http://127.0.0.1:1/")).rejects.toThrow("fetch failed");
  });

  test("sends no faster than the limit, and every call once", async () => {
    const provider = await startProvider(() => ({}));
    const limits = slidingLog({ limit: 3, window: "400ms" });
    const sent = trackSent();
    const send = limitFetch({ limiter: start(makeStore(), limits), fetch: sent.fetch });
    const calls = Array.from({ length: 7 }, async (_, i) => {
      const response = await send(`${provider.url}/${i}`);
      return response.text();
    });
    expect(new Set(await Promise.all(calls)).size).toBe(7);
    expect(provider.arrivals.map(({ path }) => path).sort()).toEqual(
      Array.from({ length: 7 }, (_, i) => `/${i}`),
    );
    const { times } = sent;
    for (let i = 3; i < times.length; i += 1) {
      expect((times[i] as number) - (times[i - 3] as number)).toBeGreaterThan(350);
    }
  });

  test("counts each origin, or whatever its key returns", async () => {
    const [one, other] = [await startProvider(() => ({})), await startProvider(() => ({}))];
    const limiter = start(makeStore(), fixedWindow({ limit: 1, window: "1h" }));
    const send = limitFetch({ limiter, timeout: 0 });
    expect((await send(`${one.url}/a`)).status).toBe(200);
    expect((await send(other.url)).status).toBe(200);
    await expect(send(`${one.url}/b`)).rejects.toMatchObject({ code: "HEADGATE_DENIED" });
    expect((await limiter.peek(one.url)).allowed).toBe(false);
    const asked: string[] = [];
    const byKey = limitFetch({
      limiter,
      timeout: 0,
      key({ url, method, headers, body }) {
        asked.push([method, url.pathname, headers.get("x-own"), body].join(" "));
        return 42;
      },
    });
    const init = { method: "PATCH", headers: { "x-own": "1" }, body: "text" };
    expect((await byKey(`${one.url}/c`, init)).status).toBe(200);
    await expect(byKey(other.url)).rejects.toMatchObject({ code: "HEADGATE_DENIED" });
    expect(asked).toEqual(["PATCH /c 1 text", "GET /  "]);
    expect((await limiter.peek("42")).allowed).toBe(false);
  });

  test("rejects with the errors of the limiter, and of the application's functions, and sends nothing", async () => {
    const provider = await startProvider(() => ({}));
    const limiter = createLimiter({
      name: "api",
      store: makeStore(),
      limits: fixedWindow({ limit: 1, window: "1h" }),
      maxQueue: 1,
    });
    onTestFinished(() => limiter.close());
    const send = limitFetch({ limiter, key: () => "me", timeout: "300ms" });
    await send(provider.url);
    const waiting = expect(send(provider.url)).rejects.toMatchObject({
      code: "HEADGATE_WAIT_TIMEOUT",
    });
    await delay(50);
    await expect(send(provider.url)).rejects.toMatchObject({ code: "HEADGATE_QUEUE_FULL" });
    await waiting;
    await expect(limitFetch({ limiter, cost: 2 })(provider.url)).rejects.toMatchObject({
      code: "HEADGATE_COST_ABOVE_LIMIT",
    });
    await expect(limitFetch({ limiter, key: () => "" })(provider.url)).rejects.toMatchObject({
      code: "HEADGATE_EMPTY_KEY",
    });
    const own = new Error("own");
    const throwing = async (): Promise<never> => {
      throw own;
    };
    await expect(limitFetch({ limiter, cost: throwing })(provider.url)).rejects.toBe(own);
    expect(provider.arrivals).toHaveLength(1);
  });

  test("ends at its signal, in line and during a cooldown, with the signal's reason", async () => {
    const provider = await startProvider(() => tooManyUntil(performance.now() + 60_000));
    const store = makeStore();
    const limiter = start(store, fixedWindow({ limit: 1, window: "1h" }));
    const send = limitFetch({ limiter, timeout: "2m" });
    const reason = new Error("no longer wanted");
    for (const request of ["sent before", "in line"]) {
      const abort = new AbortController();
      const call = send(provider.url, { signal: abort.signal });
      const expected = expect(call, request).rejects.toBe(reason);
      await delay(150);
      abort.abort(reason);
      await expected;
    }
    expect(provider.arrivals).toHaveLength(1);
    await expect(send(provider.url, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });

  test("after the first 429 sends no more than the calls in flight, until the provider takes requests again", async () => {
    let until = 0;
    const provider = await startProvider((number) => {
      if (number === 5) until = performance.now() + 700;
      return performance.now() < until ? tooManyUntil(until) : { begins: 20 };
    });
    const limiter = start(makeStore(), tokenBucket({ capacity: 5, refill: 1, every: "20ms" }));
    const sent = trackSent();
    const send = limitFetch({ limiter, fetch: sent.fetch });
    const cooldowns = watchCooldowns();
    const retries = watchRetries();
    const calls = Array.from({ length: 30 }, async (_, i) => send(`${provider.url}/${i}`));
    await waitUntil("the cooldown began", 10_000, () => cooldowns[0]);
    expect(await limiter.peek(provider.url)).toMatchObject({ allowed: false, blocked: true });
    const statuses = (await Promise.all(calls)).map(({ status }) => status);
    expect(statuses).toEqual(Array(30).fill(200));
    const limited = provider.arrivals.filter(({ status }) => status === 429);
    const [first] = cooldowns;
    for (const at of sent.times) {
      const sinceBlock = at - (first?.at ?? 0);
      expect(sinceBlock <= 100 || at >= until, `sent ${sinceBlock} ms after the block`).toBe(true);
    }
    const { host } = new URL(provider.url);
    expect(cooldowns[0]).toMatchObject({
      ...{ limiter: "api", subject: provider.url, host, status: 429 },
      ...{ isProvidersTime: true, degraded: false },
    });
    expect(retries).toHaveLength(limited.length);
    expect(retries[0]).toMatchObject({ limiter: "api", host, status: 429, attempts: 1 });
  });

  test("never shortens a cooldown, and never makes it longer than maxCooldown", async () => {
    const waits = ["30", "0.05", "40", "9999"];
    let third: () => void = () => {};
    const allAreThere = new Promise<void>((resolve) => {
      third = resolve;
    });
    const provider = await startProvider((number) => {
      if (number === 2) third();
      return {
        status: 429,
        headers: { "retry-after": waits[number] as string },
        begins: allAreThere.then(() => delay(number * 60)),
      };
    });
    const limiter = start(makeStore());
    const send = limitFetch({ limiter, retries: 0, maxCooldown: "10m" });
    const rest = async () => (await limiter.peek(provider.url)).retryAfterMs;
    // All three are in flight when the first is answered.
    const [one, two, three] = [send(provider.url), send(provider.url), send(provider.url)];
    await Promise.all([one, two]);
    expect(await rest()).toBeGreaterThan(29_000);
    expect(await rest()).toBeLessThanOrEqual(30_000);
    await three;
    expect(await rest()).toBeGreaterThan(39_000);
    expect(await rest()).toBeLessThanOrEqual(40_000);
    await limiter.unblock(provider.url);
    await send(provider.url);
    expect(await rest()).toBeGreaterThan(590_000);
    expect(await rest()).toBeLessThanOrEqual(600_000);
  });

  test("after a cooldown, one call goes first, and as many follow as the provider then has left", async () => {
    let answerTrial: () => void = () => {};
    const trial = new Promise<void>((resolve) => {
      answerTrial = resolve;
    });
    const provider = await startProvider((number) => {
      if (number === 0) return { status: 429, headers: { "retry-after": "0.3" } };
      const headers = { "x-ratelimit-limit": "10", "x-ratelimit-remaining": `${3 - number}` };
      return { headers, begins: number === 1 ? trial : 0 };
    });
    const limiter = start(makeStore(), fixedWindow({ limit: 10, window: "1h" }));
    const send = limitFetch({ limiter, timeout: "2s" });
    const first = send(provider.url);
    await waitUntil("the cooldown began", 5_000, async () =>
      (await limiter.peek(provider.url)).allowed ? undefined : true,
    );
    const others = Array.from({ length: 5 }, () => send(provider.url));
    await waitUntil("the trial call is sent", 5_000, () => provider.arrivals[1]);
    await delay(200);
    expect(provider.arrivals).toHaveLength(2);
    answerTrial();
    const ends = await Promise.allSettled([first, ...others]);
    const sent = ends.filter(({ status }) => status === "fulfilled");
    expect([sent.length, provider.arrivals.length]).toEqual([3, 4]);
  });

  test("is denied without a timeout during a cooldown that only this process holds", async () => {
    const provider = await startProvider(() => tooManyUntil(performance.now() + 60_000));
    const limiter = createLimiter({
      store: makeStore(),
      limits: PLENTY,
      shadow: true,
      name: "api",
    });
    onTestFinished(() => limiter.close());
    const send = limitFetch({ limiter, timeout: 0 });
    const cooldowns = watchCooldowns();
    expect((await send(provider.url)).status).toBe(429);
    await expect(send(provider.url)).rejects.toMatchObject({ code: "HEADGATE_DENIED" });
    expect(provider.arrivals).toHaveLength(1);
    // The store took the block, which a limiter in shadow mode does not enforce.
    expect(cooldowns).toMatchObject([{ status: 429, degraded: false }]);
  });

  test("waits behind the first call after a cooldown that another fetch of the limiter sends", async () => {
    const provider = await startProvider((number) =>
      number === 0
        ? { status: 429, headers: { "retry-after": "0.05" } }
        : { begins: new Promise(() => {}) },
    );
    const limiter = start(makeStore());
    const key = () => "me";
    const options = { limiter, key, retries: 0, timeout: "400ms" };
    await limitFetch(options)(provider.url);
    const abort = new AbortController();
    const trial = limitFetch(options)(provider.url, { signal: abort.signal }).catch(() => {});
    await waitUntil("the first call is sent", 5_000, () => provider.arrivals[1]);
    await expect(limitFetch(options)(provider.url)).rejects.toMatchObject({
      code: "HEADGATE_WAIT_TIMEOUT",
    });
    expect(provider.arrivals).toHaveLength(2);
    abort.abort();
    await trial;
  });

  test("after a cooldown, a call behind the first one waits no longer than its timeout, and does not spin", async () => {
    const provider = await startProvider((number) =>
      number === 0
        ? { status: 429, headers: { "retry-after": "0.05" } }
        : { begins: new Promise(() => {}) },
    );
    const limiter = start(makeStore());
    const send = limitFetch({ limiter, retries: 0, timeout: "400ms" });
    await send(provider.url);
    const abort = new AbortController();
    const trial = send(provider.url, { signal: abort.signal }).catch(() => {});
    await waitUntil("the first call is sent", 5_000, () => provider.arrivals[1]);
    const decisions = watchDecisions();
    const startedAt = performance.now();
    await expect(send(provider.url)).rejects.toMatchObject({ code: "HEADGATE_WAIT_TIMEOUT" });
    expect(performance.now() - startedAt).toBeLessThan(1_200);
    expect(decisions.length).toBeLessThanOrEqual(3);
    abort.abort();
    await trial;
  });

  test("after a cooldown, the calls behind the first one are sent when that has no answer for 2 s", async () => {
    const provider = await startProvider((number) =>
      number === 0
        ? { status: 429, headers: { "retry-after": "0.1" } }
        : { begins: new Promise(() => {}) },
    );
    const send = limitFetch({ limiter: start(makeStore()), retries: 0 });
    await send(provider.url);
    const abort = new AbortController();
    const calls = Array.from({ length: 6 }, () => send(provider.url, { signal: abort.signal }));
    await waitUntil("all calls are sent", 6_000, () => provider.arrivals[6]);
    const [, first, second] = provider.arrivals;
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThan(1_900);
    abort.abort();
    await Promise.allSettled(calls);
  });

  test.each<[string, { status?: number; begins?: () => Promise<unknown> }]>([
    ["fails", { begins: () => Promise.reject(new Error("the connection breaks")) }],
    ["is answered 503", { status: 503 }],
  ])("goes on with another call if the one after a cooldown %s", async (_, fate) => {
    const provider = await startProvider((number) => {
      if (number === 0) return { status: 429, headers: { "retry-after": "0.1" } };
      return number > 1 ? {} : { ...fate, begins: fate.begins?.() ?? 0 };
    });
    const limiter = start(makeStore());
    const send = limitFetch({ limiter, retries: 0 });
    expect((await send(provider.url)).status).toBe(429);
    const calls = [1, 2, 3].map(() => send(provider.url).then(({ status }) => status));
    for (const call of calls) call.catch(() => {});
    await expect.poll(() => provider.statuses()).toEqual([429, fate.status ?? 200, 200, 200]);
  });

  test("backs off longer each time if the provider gives no time", async () => {
    const provider = await startProvider(() => ({ status: 429 }));
    const limiter = start(makeStore());
    const send = limitFetch({ limiter, retries: 0 });
    const cooldowns = watchCooldowns();
    for (let i = 0; i < 4; i += 1) {
      await send(provider.url);
      await limiter.unblock(provider.url);
      await delay(260);
    }
    const spans = cooldowns.map(({ durationMs }) => durationMs);
    for (const [i, span] of spans.entries()) {
      expect(span).toBeGreaterThanOrEqual(500 * 2 ** i);
      expect(span).toBeLessThanOrEqual(1_000 * 2 ** i);
    }
    expect(spans).toHaveLength(4);
    expect(cooldowns.some(({ isProvidersTime }) => isProvidersTime)).toBe(false);
  });

  test("sends the same body again after a 429, whatever the method", async () => {
    const provider = await startProvider((number) =>
      number % 2 === 0 ? tooManyUntil(performance.now() + 20) : {},
    );
    const send = limitFetch({ limiter: start(makeStore()) });
    const method = "POST";
    const form = new URLSearchParams({ a: "1" });
    const given: readonly (readonly [string | Request, RequestInit, string])[] = [
      [provider.url, { method, body: "text" }, "text"],
      [provider.url, { method, body: form }, "a=1"],
      [provider.url, { method, body: Buffer.from("bytes") }, "bytes"],
      [provider.url, { method, body: new Blob(["blob"]) }, "blob"],
      [new Request(provider.url, { method, body: "request" }), {}, "request"],
      [provider.url, { method: "DELETE" }, ""],
    ];
    for (const [input, init, body] of given) {
      const before = provider.arrivals.length;
      expect((await send(input, init)).status).toBe(200);
      expect(provider.arrivals.slice(before).map((one) => one.body)).toEqual([body, body]);
    }
  });

  test("does not send a stream again, but holds back the other calls", async () => {
    const provider = await startProvider(() => tooManyUntil(performance.now() + 5_000));
    const limiter = start(makeStore());
    const send = limitFetch({ limiter });
    const body = new Blob(["stream"]).stream();
    const init = { method: "POST", body, duplex: "half" } as RequestInit;
    const response = await send(provider.url, init);
    expect([response.status, await response.text()]).toEqual([429, "slow down"]);
    expect(provider.arrivals).toHaveLength(1);
    expect((await limiter.peek(provider.url)).blocked).toBe(true);
  });

  test.each([
    ["GET", {}, 2],
    ["PUT", {}, 2],
    ["DELETE", {}, 2],
    ["POST", {}, 1],
    ["PATCH", {}, 1],
    ["POST", { "idempotency-key": "k1" }, 2],
  ])("after a 503 sends %s with the headers %o %d times", async (method, headers, times) => {
    for (const given of [{ "retry-after": "0.02" }, {}] as Record<string, string>[]) {
      const provider = await startProvider((number) =>
        number === 0 ? { status: 503, headers: given } : {},
      );
      const limiter = start(makeStore());
      const send = limitFetch({ limiter });
      const { status } = await send(provider.url, { method, headers });
      expect([status, provider.arrivals.length]).toEqual([times === 2 ? 200 : 503, times]);
    }
  });

  test("returns the last response once its retries are used up, or the provider wants none", async () => {
    const provider = await startProvider((number) => ({
      ...tooManyUntil(performance.now() + 10),
      body: `refusal ${number}`,
    }));
    const limiter = start(makeStore());
    const response = await limitFetch({ limiter, retries: 2 })(provider.url);
    expect([response.status, await response.text()]).toEqual([429, "refusal 2"]);
    const stubborn = await startProvider(() => ({
      status: 429,
      headers: { "stripe-should-retry": "false", "retry-after": "0.01" },
    }));
    expect((await limitFetch({ limiter })(stubborn.url)).status).toBe(429);
    expect([provider.arrivals.length, stubborn.arrivals.length]).toEqual([3, 1]);
  });

  test("returns a 429 at once if the cooldown is longer than the call may wait", async () => {
    const provider = await startProvider(() => ({ ...tooManyUntil(performance.now() + 60_000) }));
    const send = limitFetch({ limiter: start(makeStore()), timeout: "5s" });
    const startedAt = performance.now();
    const response = await send(provider.url);
    expect([response.status, await response.text()]).toEqual([429, "slow down"]);
    expect(performance.now() - startedAt).toBeLessThan(4_000);
  });

  test("returns a 429 that was to be sent again if the line does not admit it in time", async () => {
    const provider = await startProvider(() => tooManyUntil(performance.now() + 30));
    const limiter = start(makeStore(), fixedWindow({ limit: 1, window: "1h" }));
    const response = await limitFetch({ limiter, timeout: "400ms" })(provider.url);
    expect([response.status, await response.text()]).toEqual([429, "slow down"]);
  });

  test("charges what the provider counts beyond the limiter, and ignores a higher number", async () => {
    const remaining = ["90", "40", "70", "10"];
    const provider = await startProvider((number) => ({
      headers: { "x-ratelimit-limit": "100", "x-ratelimit-remaining": remaining[number] as string },
    }));
    const limiter = start(makeStore(), fixedWindow({ limit: 100, window: "1h" }));
    const left = async () => (await limiter.peek(provider.url, { cost: 0 })).remaining;
    const send = () => limitFetch({ limiter })(provider.url);
    for (const expected of [90, 40, 39, 10]) {
      await send();
      await expect.poll(left).toBe(expected);
      // A subject is corrected once a second at most.
      await delay(1_010);
    }
  });

  test("charges a budget only to a limit that it can describe", async () => {
    const provider = await startProvider((number) => ({
      headers:
        number === 0
          ? {
              "x-github-request-id": "1",
              "x-ratelimit-resource": "search",
              "x-ratelimit-limit": "30",
              "x-ratelimit-remaining": "3",
            }
          : {
              "x-ratelimit-remaining-requests": "80",
              "x-ratelimit-remaining-tokens": "700",
            },
    }));
    const store = makeStore();
    const github = start(store, fixedWindow({ limit: 5_000, window: "1h" }), "github");
    await limitFetch({ limiter: github })(provider.url);
    const model = start(
      store,
      [
        fixedWindow({ name: "requests", limit: 100, window: "1h" }),
        fixedWindow({ name: "tokens", limit: 1_000, window: "1h" }),
      ],
      "model",
    );
    await limitFetch({ limiter: model, cost: { requests: 1, tokens: 50 } })(provider.url);
    const left = async (limiter: Limiter) =>
      (await limiter.peek(provider.url, { cost: 0 })).limits.map((limit) => limit.remaining);
    await expect.poll(() => left(model)).toEqual([80, 700]);
    expect(await left(github)).toEqual([4_999]);
  });

  test("settles a call at its real cost, also in the background, and reports the first failure", async () => {
    const provider = await startProvider(() => ({ body: '{"tokens":7}' }));
    const limiter = start(makeStore(), fixedWindow({ limit: 100, window: "1h" }));
    const left = async () => (await limiter.peek("me", { cost: 0 })).remaining;
    const options = { limiter, key: () => "me", cost: 20 };
    const byBody = limitFetch({
      ...options,
      settle: async (response) => ((await response.clone().json()) as { tokens: number }).tokens,
    });
    expect(await (await byBody(provider.url)).json()).toEqual({ tokens: 7 });
    await expect.poll(left).toBe(93);
    const warnings: (string | undefined)[] = [];
    const onWarning = (warning: Error & { code?: string }) => warnings.push(warning.code);
    process.on("warning", onWarning);
    onTestFinished(() => {
      process.off("warning", onWarning);
    });
    const failing = limitFetch({ ...options, settle: () => Promise.reject(new Error("own")) });
    for (let i = 0; i < 2; i += 1) expect((await failing(provider.url)).status).toBe(200);
    await expect.poll(() => warnings).toEqual(["HEADGATE_SETTLE_FAILED"]);
    expect(await left()).toBe(53);
    const unchanged = limitFetch({ ...options, settle: () => undefined });
    await unchanged(provider.url);
    expect(await left()).toBe(33);
  });

  test("hears the refusals that are only in bodies: GitHub's secondary limits and Shopify's throttled queries", async () => {
    const status = (currentlyAvailable: number) => ({
      requestedQueryCost: 20,
      throttleStatus: { maximumAvailable: 1_000, currentlyAvailable, restoreRate: 50 },
    });
    const json = { "content-type": "application/json" };
    const shopify = await startProvider((number) => ({
      headers: json,
      body: JSON.stringify(
        number === 0
          ? {
              errors: [{ message: "Throttled", extensions: { code: "THROTTLED" } }],
              extensions: { cost: status(10) },
            }
          : { data: { shop: 1 }, extensions: { cost: status(900) } },
      ),
    }));
    const limiter = start(makeStore(), tokenBucket({ capacity: 1_000, refill: 1, every: "1m" }));
    const send = limitFetch({ limiter, cost: 20 });
    const graphql = `${shopify.url}/admin/api/2026-01/graphql.json`;
    const response = await send(graphql, { method: "POST", body: "{}" });
    expect(await response.json()).toMatchObject({ data: { shop: 1 } });
    const [first, second] = shopify.arrivals;
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThan(190);
    await expect
      .poll(async () => (await limiter.peek(shopify.url, { cost: 0 })).remaining)
      .toBe(900);

    const github = await startProvider(() => ({
      status: 403,
      headers: { ...json, "x-github-request-id": "1" },
      body: '{"message":"You have exceeded a secondary rate limit."}',
    }));
    const refused = await limitFetch({ limiter, retries: 0 })(github.url);
    expect(await refused.json()).toHaveProperty("message");
    const { blocked, retryAfterMs } = await limiter.peek(github.url);
    expect(blocked && retryAfterMs > 55_000).toBe(true);
  });

  test("ignores nonsense in headers, and reports it once", async () => {
    const warnings: string[] = [];
    const onWarning = ({ message }: Error) => warnings.push(message);
    process.on("warning", onWarning);
    onTestFinished(() => {
      process.off("warning", onWarning);
    });
    const provider = await startProvider(() => ({
      headers: { "x-ratelimit-remaining": "-7", "retry-after": "soon" },
    }));
    const limiter = start(makeStore(), fixedWindow({ limit: 100, window: "1h" }));
    const send = limitFetch({ limiter });
    for (let i = 0; i < 3; i += 1) expect((await send(provider.url)).status).toBe(200);
    const { host } = new URL(provider.url);
    await expect.poll(() => warnings.length).toBe(2);
    expect(warnings.join()).toContain(`the header x-ratelimit-remaining of ${host} has a value`);
    expect(warnings.join()).toContain(`the header retry-after of ${host} has a value`);
    expect((await limiter.peek(provider.url, { cost: 0 })).remaining).toBe(97);
  });
});

describe("options", () => {
  const limits = PLENTY;
  test.each([
    [{}, "limitFetch: limiter or limits is required"],
    [{ limits, timeout: -1 }, "limitFetch: timeout must be a duration"],
    [{ limits, retries: 1.5 }, "limitFetch: retries must be a whole number from 0 to 100, got 1.5"],
    [{ limits, retries: 101 }, "limitFetch: retries must be a whole number from 0 to 100, got 101"],
    [{ limits, maxCooldown: 0 }, "limitFetch: maxCooldown must be a duration"],
    [{ limits, key: "me" }, 'limitFetch: key must be a function, got "me"'],
    [{ limits, settle: 1 }, "limitFetch: settle must be a function, got 1"],
    [{ limits, fetch: 1 }, "limitFetch: fetch must be a function, got 1"],
    [
      { limits, cost: "1" },
      "limitFetch: cost must be a whole number from 0 to 2^53 - 1, an object",
    ],
    [{ limits, cost: -1 }, "or a function, got -1"],
    [{ limits, cost: { a: 1 } }, "cost must name limits of the limiter, which are "],
    [
      { limits, cost: { "10000-per-1s": 0.5 } },
      "must be a whole number from 0 to 2^53 - 1, got 0.5",
    ],
    [{ limits, dialects: ["gitlab"] }, 'limitFetch: dialects must be a list of "anthropic"'],
    [{ limits, minTime: 5 }, "Headgate's way is limits: gcra({ limit, window })"],
    [{ limiter: {} }, "limiter"],
  ])("%o are refused with a message that says why", (options, message) => {
    expect(() => limitFetch(options as never)).toThrow(
      expect.objectContaining({
        code: "HEADGATE_INVALID_OPTION",
        message: expect.stringContaining(message),
      }),
    );
  });

  test("that belong to the limiter are refused beside one", () => {
    const limiter = start(memoryStore());
    expect(() => limitFetch({ limiter, maxQueue: 5 })).toThrow(
      "limitFetch: limiter replaces limits and their options; maxQueue must be given where the limiter is created, got 5",
    );
  });

  test("need a key if the limits count by several dimensions", async () => {
    const provider = await startProvider(() => ({}));
    const several = [
      fixedWindow({ per: "tenant", limit: 1, window: "1h" }),
      fixedWindow({ per: "user", limit: 5, window: "1h" }),
    ];
    const store = memoryStore();
    expect(() => limitFetch({ name: "api", store, limits: several })).toThrow(
      "limitFetch: key must be a function that returns the subjects of tenant, user",
    );
    // The name is free again.
    start(store);
    const key = () => ({ tenant: "t", user: "u" });
    const send = limitFetch({ limits: several, key, timeout: 0 });
    onTestFinished(() => send.limiter.close());
    expect((await send(provider.url)).status).toBe(200);
    await expect(send(provider.url)).rejects.toMatchObject({ code: "HEADGATE_DENIED" });
  });

  test("with a limit on all requests together need no key, and its cooldown stops all", async () => {
    const provider = await startProvider(() => tooManyUntil(performance.now() + 60_000));
    const send = limitFetch({
      limits: gcra({ per: "global", limit: 9, window: "1s" }),
      retries: 0,
      timeout: "100ms",
    });
    onTestFinished(() => send.limiter.close());
    expect((await send(provider.url)).status).toBe(429);
    await expect(send("http://127.0.0.1:1/")).rejects.toMatchObject({
      code: "HEADGATE_WAIT_TIMEOUT",
    });
  });
});
