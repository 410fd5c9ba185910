import { concurrency, createLimiter, gcra, memoryStore } from "@headgate/core";
import type { Cooldown, LimitedFetch, OutgoingRequest } from "@headgate/fetch";
import { FETCH_CHANNELS, limitFetch, limitInterceptor } from "@headgate/fetch";
import { createAdminApiClient } from "@shopify/admin-api-client";
import OpenAI from "openai";

const limiter = createLimiter({
  name: "api",
  store: memoryStore(),
  limits: [
    gcra({ name: "requests", limit: 100, window: "1m", per: "tenant" }),
    concurrency({ limit: 5, ttl: "10s", per: "tenant" }),
  ],
});

const keyOf = ({ headers }: OutgoingRequest): string => headers.get("x-tenant") ?? "none";
const limited: LimitedFetch = limitFetch({
  limiter,
  key: (request) => ({ tenant: keyOf(request) }),
  cost: ({ body }) => ({ requests: typeof body === "string" ? body.length : 1 }),
  settle: async (response) => ({ requests: Number(response.headers.get("x-cost")) }),
  timeout: "30 seconds",
  retries: 3,
  maxCooldown: "10m",
  dialects: ["github", "ietf"],
});

new OpenAI({ fetch: limited, maxRetries: 0 });
createAdminApiClient({
  storeDomain: "tea.myshopify.com",
  apiVersion: "2026-10",
  accessToken: "secret",
  customFetchApi: limited,
});

void limited("https://api.example", { signal: AbortSignal.timeout(1) }).then(({ ok }) => ok);
void limited.limiter.block("me", "5m", { reason: "three failed payments" });
void limitInterceptor({ limits: gcra({ limit: 1, window: "1s" }), key: () => 42 }).limiter.close();
export const durationOf = (message: unknown): [string, number] => [
  FETCH_CHANNELS.cooldown,
  (message as Cooldown).durationMs,
];

// @ts-expect-error a misspelt option
limitFetch({ limiter, retry: 3 });
// @ts-expect-error a dialect that does not exist
limitFetch({ limiter, dialects: ["gitlab"] });
// @ts-expect-error the subject is text, a number, or an object
limitFetch({ limiter, key: () => true });
