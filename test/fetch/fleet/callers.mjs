// What sends the calls of a process: Headgate, or what programs use instead. Each resolves with the status that the program gets.
import {
  concurrency,
  fixedWindow,
  gcra,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { limitFetch } from "@headgate/fetch";
import Bottleneck from "bottleneck";
import { Cluster, Redis } from "ioredis";

const ALGORITHMS = { concurrency, fixedWindow, gcra, slidingLog, slidingWindow, tokenBucket };

/** How often a call is sent again, by each tool. */
const RETRIES = 8;

/** The first backoff without a time from the provider, in milliseconds; each further one is twice as long. */
const FIRST_BACKOFF_MS = 1_000;

export const CALLERS = { headgate, bottleneck, retrying };

/** `limits` are the options of limits with their algorithm: `{ algorithm: "gcra", limit: 100, window: "1s" }`. */
function headgate({ redis, nodes, name, limits, settles = true, ...options }, send) {
  const settings = { maxRetriesPerRequest: null, retryStrategy: () => 50 };
  const client = nodes ? new Cluster(nodes) : new Redis(redis, settings);
  client.on("error", () => {});
  const limited = limitFetch({
    name,
    store: redisStore(client),
    limits: limits.map(({ algorithm, ...limit }) => ALGORITHMS[algorithm](limit)),
    key: () => "credential",
    timeout: "2m",
    retries: RETRIES,
    ...options,
    ...(settles && options.cost?.tokens && { settle: settleTokens }),
    fetch: send,
  });
  return {
    ready: () => limited.limiter.peek("credential", { cost: 0 }),
    async call(url, init) {
      const response = await limited(url, init);
      await response.arrayBuffer();
      return response.status;
    },
    isDegraded: async () => (await limited.limiter.peek("credential", { cost: 0 })).degraded,
    async close() {
      await limited.limiter.close();
      client.disconnect();
    },
  };
}

async function settleTokens(response) {
  if (!response.ok) return undefined;
  const { usage } = await response.clone().json();
  return { requests: 1, tokens: usage.total_tokens };
}

/** Bottleneck's cluster mode as its documentation shows it: a reservoir in Redis, and a job that failed runs again after a time. */
function bottleneck({ redis, name, weight = 1, expiration = null, ...options }, send) {
  const limiter = new Bottleneck({
    id: name,
    datastore: "ioredis",
    Redis,
    clientOptions: { path: redis },
    clearDatastore: false,
    // The default, 5 s, would refresh these short windows late.
    heartbeatInterval: 100,
    ...options,
  });
  limiter.on("error", () => {});
  limiter.on("failed", (error, { retryCount }) => {
    if (error.refusal === undefined || retryCount >= RETRIES) return undefined;
    return error.refusal.waitMs ?? FIRST_BACKOFF_MS * 2 ** retryCount;
  });
  const attempt = async (url, init) => {
    const response = await send(url, init);
    const refusal = await refusalOf(response);
    if (refusal) throw Object.assign(new Error("limited"), { refusal, status: response.status });
    return response.status;
  };
  return {
    ready: () => limiter.ready(),
    call: (url, init) =>
      limiter
        .schedule({ weight, expiration }, attempt, url, init)
        .catch((error) => error.status ?? Promise.reject(error)),
    close: () => limiter.disconnect(false),
  };
}

/** A `fetch` that sends again after the time that the provider gives, and a random part of a backoff. */
function retrying(_, send) {
  return {
    async call(url, init) {
      for (let retries = 0; ; retries += 1) {
        const response = await send(url, init);
        const refusal = await refusalOf(response);
        if (refusal === undefined || retries === RETRIES) return response.status;
        const backoffMs = FIRST_BACKOFF_MS * 2 ** retries * Math.random();
        const waitMs = refusal.waitMs === undefined ? backoffMs : refusal.waitMs + backoffMs / 4;
        await new Promise((resolve) => setTimeout(resolve, waitMs));
      }
    },
    ready() {},
    close() {},
  };
}

/** Whether a response is a refusal by one of the mock providers, and how long to wait, as far as it says; reads its body. */
async function refusalOf(response) {
  const { status, headers } = response;
  const body = await response.text();
  if (/"THROTTLED"/.test(body)) {
    const { requestedQueryCost, throttleStatus } = JSON.parse(body).extensions.cost;
    const { currentlyAvailable, restoreRate } = throttleStatus;
    return { waitMs: Math.ceil(((requestedQueryCost - currentlyAvailable) / restoreRate) * 1_000) };
  }
  if (![403, 429, 503].includes(status)) return undefined;
  const millis = headers.get("retry-after-ms");
  if (millis !== null) return { waitMs: Number(millis) };
  const seconds = headers.get("retry-after");
  if (seconds !== null) return { waitMs: Number(seconds) * 1_000 };
  const reset = headers.get("x-ratelimit-reset");
  if (reset !== null && headers.get("x-ratelimit-remaining") === "0") {
    return { waitMs: Math.max(0, Number(reset) * 1_000 - Date.now()) };
  }
  return { waitMs: undefined };
}
