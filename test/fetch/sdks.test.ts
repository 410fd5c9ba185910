import type { Limiter } from "@headgate/core";
import { concurrency, createLimiter, fixedWindow, memoryStore, tokenBucket } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import type { LimitFetchOptions } from "@headgate/fetch";
import { limitFetch } from "@headgate/fetch";
import type { AdminApiClient } from "@shopify/admin-api-client";
import { createAdminApiClient, createAdminRestApiClient } from "@shopify/admin-api-client";
import { Octokit } from "octokit";
import OpenAI from "openai";
import { describe, expect, onTestFinished, test } from "vitest";
import { startGitHub } from "../../examples/providers/github.mjs";
import type { MockApi } from "../../examples/providers/mock-api.mjs";
import { startOpenAi } from "../../examples/providers/openai.mjs";
import { startShopify } from "../../examples/providers/shopify.mjs";
import { useLongStoreTimeout } from "../support/long-store-timeout.ts";
import { useOwnDatabase } from "../support/own-database.ts";
import { startProvider } from "./provider.ts";

useLongStoreTimeout();
const redis = useOwnDatabase();

/** Stops a mock server when the test ends. */
async function running<Api extends MockApi>(starting: Promise<Api>): Promise<Api> {
  const api = await starting;
  onTestFinished(() => api.stop());
  return api;
}

/** A limiter on Redis with counts of its own, until the test ends. */
function start(limits: Parameters<typeof createLimiter>[0]["limits"], prefix?: string): Limiter {
  const store = redisStore(redis, { prefix: prefix ?? `sdk-${Math.random()}` });
  const limiter = createLimiter({ name: "api", store, limits });
  onTestFinished(() => limiter.close());
  return limiter as Limiter;
}

const countOf = ({ arrivals }: MockApi, status: number) =>
  arrivals.filter((one) => one.status === status).length;

/** A limiter with a budget that is spent, so that a call gives up at once. */
async function spent() {
  const limits = fixedWindow({ limit: 1, window: "1h" });
  const limiter = createLimiter({ name: "spent", store: memoryStore(), limits });
  onTestFinished(() => limiter.close());
  await limiter.consume("me");
  return { limiter: limiter as Limiter, key: () => "me", timeout: 0 } as const;
}

describe("Octokit", () => {
  const octokitOn = (url: string, options: LimitFetchOptions) =>
    new Octokit({
      baseUrl: url,
      auth: "secret",
      throttle: { enabled: false },
      retry: { enabled: false },
      request: { fetch: limitFetch({ key: () => "me", ...options }) },
    });

  test("loses no call when somebody else spends its budget: two members of a fleet wait for the new one", async () => {
    const api = await running(startGitHub({ limit: 20, windowMs: 1_000, latencyMs: 20 }));
    const spend = { headers: { authorization: "token secret" } };
    for (let i = 0; i < 10; i += 1) await (await fetch(api.url, spend)).text();
    const prefix = `octokit-${Math.random()}`;
    const members = [0, 1].map(() => {
      const limiter = start(fixedWindow({ limit: 20, window: "2s" }), prefix);
      return octokitOn(api.url, { limiter });
    });
    const calls = members.flatMap((octokit, member) =>
      Array.from({ length: 12 }, async (_, i) => {
        const repo = `${member}-${i}`;
        const { data } = await octokit.rest.repos.get({ owner: "ada", repo });
        return [repo, data.full_name, data.stargazers_count];
      }),
    );
    for (const [repo, ...read] of await Promise.all(calls))
      expect(read).toEqual([`ada/${repo}`, 3]);
    expect(countOf(api, 200)).toBe(10 + 24);
    // Of the 20 that the limiter admitted, 10 were in flight when the first was refused.
    expect(countOf(api, 403)).toBeLessThanOrEqual(10);
  });

  test("waits after a secondary limit, and reports the refusal if its call may not be sent again", async () => {
    const api = await running(startGitHub({ concurrent: 1, latencyMs: 50 }));
    const limiter = start(fixedWindow({ limit: 5_000, window: "1h" }));
    const octokit = octokitOn(api.url, { limiter, retries: 0 });
    const get = (repo: string) => octokit.rest.repos.get({ owner: "ada", repo });
    const pair = await Promise.allSettled([get("one"), get("two")]);
    expect(pair.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    expect(pair.find((one) => one.status === "rejected")?.reason).toMatchObject({
      status: 403,
      message: expect.stringContaining("secondary rate limit"),
    });
    expect((await get("three")).data.full_name).toBe("ada/three");
    const [, refused, next] = api.arrivals;
    // The API asked for a second.
    expect((next?.at ?? 0) - (refused?.at ?? 0)).toBeGreaterThanOrEqual(990);
  });

  test("reads all pages of a list", async () => {
    const api = await running(startGitHub());
    const limiter = start(fixedWindow({ limit: 5_000, window: "1h" }));
    const octokit = octokitOn(api.url, { limiter });
    const list = octokit.rest.issues.listForRepo;
    const issues = await octokit.paginate(list, { owner: "ada", repo: "tea", per_page: 10 });
    expect(issues.map(({ number }) => number)).toEqual(Array.from({ length: 30 }, (_, i) => i + 1));
    expect((await limiter.peek("me", { cost: 0 })).remaining).toBe(4_997);
  });

  test("sends the body of a request again", async () => {
    const api = await startProvider((number) => ({
      status: number === 0 ? 429 : 201,
      headers: { "retry-after": "1", "content-type": "application/json" },
      body: '{"number":7}',
    }));
    const octokit = octokitOn(api.url, {
      limiter: start(fixedWindow({ limit: 5_000, window: "1h" })),
    });
    const issue = { owner: "ada", repo: "tea", title: "Add milk" };
    const { data } = await octokit.rest.issues.create(issue);
    expect(data.number).toBe(7);
    expect(api.arrivals.map(({ body }) => body)).toEqual(Array(2).fill('{"title":"Add milk"}'));
  });

  test("rejects with the limiter's error as the cause of its own", async () => {
    const octokit = octokitOn("http://127.0.0.1:1", await spent());
    await expect(octokit.rest.meta.get()).rejects.toMatchObject({
      name: "HttpError",
      cause: { code: "HEADGATE_DENIED" },
    });
  });
});

describe("the OpenAI SDK", () => {
  const clientOn = (url: string, options: LimitFetchOptions) =>
    new OpenAI({
      baseURL: url,
      apiKey: "secret",
      maxRetries: 0,
      fetch: limitFetch({ key: () => "me", ...options }),
    });
  const question = {
    model: "gpt-5-mini",
    max_completion_tokens: 100,
    messages: [{ role: "user" as const, content: "What is tea?" }],
  };

  test("loses no call when somebody else spends its tokens", async () => {
    const api = await running(startOpenAi({ requests: 6_000, tokens: 120_000 }));
    const spend = { ...question, max_completion_tokens: 119_700 };
    await new OpenAI({ baseURL: api.url, apiKey: "secret" }).chat.completions.create(spend);
    const client = clientOn(api.url, {
      limiter: start([
        tokenBucket({ name: "requests", capacity: 6_000, refill: 6_000, every: "1m" }),
        tokenBucket({ name: "tokens", capacity: 120_000, refill: 120_000, every: "1m" }),
        concurrency({ limit: 10, ttl: "10s" }),
      ]),
      cost: { requests: 1, tokens: 110 },
      retries: 10,
    });
    const answers = await Promise.all(
      Array.from({ length: 30 }, async () => {
        const { choices, usage } = await client.chat.completions.create(question);
        return [choices[0]?.message.content, usage?.total_tokens];
      }),
    );
    expect(answers).toEqual(Array(30).fill(["The anvil has been shipped.", 17]));
    expect(countOf(api, 200)).toBe(31);
    expect(countOf(api, 429)).toBeGreaterThan(0);
  });

  test("holds a slot while it streams an answer, and until the application ends the stream", async () => {
    const api = await running(startOpenAi({ latencyMs: 10 }));
    const limiter = start(concurrency({ limit: 1, ttl: "20s" }));
    const client = clientOn(api.url, { limiter });
    const held = async () => !(await limiter.peek("me")).allowed;
    const words: (string | null | undefined)[] = [];
    for await (const chunk of await client.chat.completions.create({ ...question, stream: true })) {
      if (words.length === 0) expect(await held()).toBe(true);
      words.push(chunk.choices[0]?.delta.content);
    }
    expect(words.join("")).toBe("The anvil has been shipped.");
    await expect.poll(held).toBe(false);
    for await (const chunk of await client.chat.completions.create({ ...question, stream: true })) {
      expect(chunk.choices).toHaveLength(1);
      break;
    }
    await expect.poll(held).toBe(false);
  });

  test("ends the wait of a call that exceeds its own timeout, and sends nothing", async () => {
    const api = await running(startOpenAi());
    const { limiter } = await spent();
    const client = clientOn(api.url, { limiter });
    const call = client.chat.completions.create(question, { timeout: 100 });
    await expect(call).rejects.toThrow(OpenAI.APIConnectionTimeoutError);
    expect(api.arrivals).toEqual([]);
  });

  test("rejects with the limiter's error as the cause of its own", async () => {
    const client = clientOn("http://127.0.0.1:1", { ...(await spent()), timeout: "1ms" });
    await expect(client.chat.completions.create(question)).rejects.toMatchObject({
      cause: { code: "HEADGATE_WAIT_TIMEOUT" },
    });
  });
});

describe("Shopify's client", () => {
  const shop = "https://tea.myshopify.com";
  const query = "query { products(first: 20) { nodes { title } } }";
  const bucket = tokenBucket({ name: "points", capacity: 200, refill: 100, every: "1s" });

  interface ShopifyAnswer {
    readonly extensions: { readonly cost: { readonly actualQueryCost: number | null } };
  }

  /** A client of a shop, whose requests go to the mock server. */
  const clientOn = (url: string, options: LimitFetchOptions): AdminApiClient =>
    createAdminApiClient({
      storeDomain: shop,
      apiVersion: "2026-10",
      accessToken: "secret",
      isTesting: true,
      logger: () => {},
      customFetchApi: limitFetch({
        key: (request) => request.url.hostname,
        cost: 22,
        async settle(response) {
          const { extensions } = (await response.clone().json()) as ShopifyAnswer;
          return extensions.cost.actualQueryCost ?? 0;
        },
        fetch: (input, init) => fetch(String(input).replace(shop, url), init),
        ...options,
      }),
    });

  test("sends throttled queries again, so that none fails, and each shop has points of its own", async () => {
    const api = await running(startShopify({ points: 200, restoreRate: 30 }));
    const limiter = start(bucket);
    const client = clientOn(api.url, { limiter, retries: 20 });
    const plenty = start(tokenBucket({ capacity: 10_000, refill: 1, every: "1s" }));
    const others = clientOn(api.url, { limiter: plenty });
    const othersRun = await Promise.all(Array.from({ length: 12 }, () => others.request(query)));
    expect(othersRun.every(({ errors }) => errors === undefined)).toBe(true);
    const results = await Promise.all(Array.from({ length: 12 }, () => client.request(query)));
    expect(results.map(({ data, errors }) => [data?.products.nodes.length, errors])).toEqual(
      Array(12).fill([10, undefined]),
    );
    expect(api.arrivals.length).toBeGreaterThan(12 + 12);
    expect((await limiter.peek("milk.myshopify.com", { cost: 0 })).remaining).toBe(200);
  });

  test("gets the error of a throttled query that is not sent again", async () => {
    const api = await running(startShopify({ points: 25, restoreRate: 1 }));
    const client = clientOn(api.url, { limiter: start(bucket), retries: 0 });
    expect((await client.request(query)).errors).toBeUndefined();
    const { errors } = await client.request(query);
    expect(errors?.graphQLErrors?.[0]?.extensions?.["code"]).toBe("THROTTLED");
  });

  test("of the REST API waits as long as a 429 says", async () => {
    const api = await running(startShopify({ size: 1, perSecond: 4 }));
    const client = createAdminRestApiClient({
      storeDomain: new URL(api.url).host,
      scheme: "http",
      apiVersion: "2026-10",
      accessToken: "secret",
      isTesting: true,
      logger: () => {},
      customFetchApi: limitFetch({
        limiter: start(tokenBucket({ capacity: 40, refill: 2, every: "1s" })),
      }),
    });
    const titles = async () => {
      const { products } = (await (await client.get("products")).json()) as {
        products: { title: string }[];
      };
      return products.map(({ title }) => title);
    };
    expect(await titles()).toContain("Anvil 1");
    expect(await titles()).toContain("Anvil 1");
    expect(api.arrivals.map(({ status }) => status)).toEqual([200, 429, 200]);
    const [, refused, next] = api.arrivals;
    // A request comes back in 250 ms, which the API rounds up to 0.3 s.
    expect((next?.at ?? 0) - (refused?.at ?? 0)).toBeGreaterThanOrEqual(199);
  });

  test("reports the limiter's error by its message", async () => {
    const client = clientOn("http://127.0.0.1:1", await spent());
    const { errors } = await client.request(query);
    expect(errors?.message).toMatch(/GraphQL Client: .*denied/);
  });
});
