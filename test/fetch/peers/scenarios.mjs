// What the comparison does: each scenario has a mock provider, calls, and the options of each tool, as its documentation advises.
import { setTimeout as delay } from "node:timers/promises";
import { startGitHub } from "../../../examples/providers/github.mjs";
import { startIetf } from "../../../examples/providers/ietf.mjs";
import { startOpenAi } from "../../../examples/providers/openai.mjs";
import { startShopify } from "../../../examples/providers/shopify.mjs";
import { makeCalls } from "../fleet/fleet.mjs";

const WINDOW_MS = 4_000;
const LIMIT = 200;

const github = (options) =>
  startGitHub({ limit: LIMIT, windowMs: WINDOW_MS, points: 100_000, latencyMs: 20, ...options });
const repositories = (count) => (api) =>
  makeCalls(count, (i) => ({ url: `${api.url}/repos/acme/${i}` }));

/** A little longer than the provider's: requests take different times to get there. A multiple of 250, as Bottleneck wants it. */
const OWN_WINDOW_MS = WINDOW_MS + 250;

/** The window of the provider, as each tool describes it. */
const WINDOW = {
  headgate: { limits: [{ algorithm: "slidingWindow", limit: LIMIT, window: OWN_WINDOW_MS }] },
  bottleneck: {
    reservoir: LIMIT,
    reservoirRefreshAmount: LIMIT,
    reservoirRefreshInterval: OWN_WINDOW_MS,
  },
};

/** A pace far above what the provider takes, where its limit is not known. */
const FAST = {
  headgate: { limits: [{ algorithm: "gcra", limit: 400, window: "1s" }] },
  bottleneck: { reservoir: 400, reservoirRefreshAmount: 400, reservoirRefreshInterval: 1_000 },
};

const ANSWER_TOKENS = 93;

/**
 * `during` gets the mock provider, the fleet and Redis while the calls are made. Calls of a killed process are not counted.
 */
export const SCENARIOS = [
  {
    name: "a window whose size is known",
    start: () => github(),
    calls: repositories(600),
    tools: WINDOW,
  },
  {
    name: "a window that becomes a quarter",
    start: () => github(),
    calls: repositories(400),
    tools: WINDOW,
    async during({ api }) {
      while (api.arrivals.length < 250) await delay(5);
      api.core.limit = LIMIT / 4;
    },
  },
  {
    name: "a limit that is not known",
    start: () => startIetf({ limit: 100, windowMs: WINDOW_MS, latencyMs: 20 }),
    calls: (api) => makeCalls(300, (i) => ({ url: `${api.url}/${i}` })),
    tools: FAST,
  },
  {
    name: "tokens of a language model",
    start: () =>
      startOpenAi({ requests: 10_000, tokens: 10_000, windowMs: WINDOW_MS, latencyMs: 20 }),
    calls: (api) =>
      makeCalls(300, () => ({
        url: `${api.url}/v1/chat/completions`,
        method: "POST",
        body: JSON.stringify({ messages: [], max_tokens: ANSWER_TOKENS - 1 }),
      })),
    tools: {
      headgate: {
        limits: [
          {
            algorithm: "tokenBucket",
            name: "tokens",
            capacity: 10_000,
            refill: 2_500,
            every: "1s",
          },
          {
            algorithm: "tokenBucket",
            name: "requests",
            capacity: 10_000,
            refill: 2_500,
            every: "1s",
          },
        ],
        cost: { requests: 1, tokens: ANSWER_TOKENS },
        settles: false,
      },
      bottleneck: {
        weight: ANSWER_TOKENS,
        reservoir: 10_000,
        reservoirIncreaseInterval: 250,
        reservoirIncreaseAmount: 625,
        reservoirIncreaseMaximum: 10_000,
      },
    },
  },
  {
    name: "a bucket that leaks",
    start: () => startShopify({ size: 40, perSecond: 40, latencyMs: 20 }),
    calls: (api) => makeCalls(300, () => ({ url: `${api.url}/admin/api/2026-07/products.json` })),
    tools: {
      headgate: { limits: [{ algorithm: "tokenBucket", capacity: 40, refill: 40, every: "1s" }] },
      bottleneck: {
        reservoir: 40,
        reservoirIncreaseInterval: 250,
        reservoirIncreaseAmount: 10,
        reservoirIncreaseMaximum: 40,
      },
    },
  },
  {
    name: "Redis killed for 2 s",
    start: () => github(),
    calls: repositories(600),
    tools: WINDOW,
    async during({ api, redis }) {
      while (api.arrivals.length < 250) await delay(5);
      await redis.kill();
      await delay(2_000);
      await redis.restart();
    },
  },
  {
    name: "a process killed with all 8 slots",
    start: () => github({ limit: 10_000, concurrent: 8, latencyMs: 100 }),
    calls: repositories(200),
    tools: {
      headgate: { limits: [{ algorithm: "concurrency", limit: 8, ttl: "2s" }] },
      bottleneck: { maxConcurrent: 8, expiration: 2_000 },
    },
    /** Before the calls. */
    async before({ api, fleet }) {
      api.latencyMs = 60_000;
      const held = makeCalls(8, (i) => ({ url: `${api.url}/held/${i}` }), "held");
      fleet.runOne(0, held).catch(() => {});
      while (api.arrivals.length < 8) await delay(5);
      api.latencyMs = 100;
      await fleet.kill(0);
    },
  },
];
