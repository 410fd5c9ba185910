import type { BudgetHeaders, Dialect } from "./dialect.ts";

/** The headers of a budget in the order in which most providers name their parts: `x-ratelimit-remaining-tokens`. */
function named(prefix: string, unit: string, suffix = ""): BudgetHeaders {
  return {
    unit,
    limit: `${prefix}-limit${suffix}`,
    remaining: `${prefix}-remaining${suffix}`,
    reset: [`${prefix}-reset${suffix}`],
  };
}

/** The headers of a budget as Anthropic names them: `anthropic-ratelimit-tokens-remaining`. */
function anthropic(unit: string): BudgetHeaders {
  const prefix = `anthropic-ratelimit-${unit}`;
  return {
    unit,
    limit: `${prefix}-limit`,
    remaining: `${prefix}-remaining`,
    reset: [`${prefix}-reset`],
  };
}

/**
 * The dialects, those of one provider first: some answer with headers of several dialects, of which the first counts. Slack has no
 * entry, because it only sends `Retry-After`, which is read in any answer: https://docs.slack.dev/apis/web-api/rate-limits
 */
export const DIALECTS: readonly Dialect[] = [
  {
    name: "anthropic",
    source: "https://docs.claude.com/en/api/rate-limits#response-headers",
    recognisedBy: [
      "anthropic-ratelimit-requests-remaining",
      "anthropic-ratelimit-tokens-remaining",
      "anthropic-ratelimit-input-tokens-remaining",
      "anthropic-ratelimit-output-tokens-remaining",
    ],
    budgets: ["requests", "tokens", "input-tokens", "output-tokens"].map(anthropic),
    // "The time when the rate limit will be fully replenished".
    resetIs: "full-bucket",
    shouldRetry: "x-should-retry",
  },
  {
    name: "openai",
    source: "https://platform.openai.com/docs/guides/rate-limits#rate-limits-in-headers",
    recognisedBy: ["x-ratelimit-remaining-requests", "x-ratelimit-remaining-tokens"],
    budgets: [
      named("x-ratelimit", "requests", "-requests"),
      named("x-ratelimit", "tokens", "-tokens"),
    ],
    // "The time until the rate limit resets to its initial state".
    resetIs: "full-bucket",
    shouldRetry: "x-should-retry",
  },
  {
    name: "shopify",
    source: "https://shopify.dev/docs/api/admin-rest/usage/rate-limits",
    recognisedBy: ["x-shopify-shop-api-call-limit"],
    // "32/40": the used requests, and the size of the bucket.
    budgets: [{ unit: "requests", remaining: "x-shopify-shop-api-call-limit" }],
  },
  {
    name: "github",
    source: "https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api",
    recognisedBy: ["x-github-request-id", "x-ratelimit-resource"],
    budgets: [named("x-ratelimit", "requests")],
    bucket: "x-ratelimit-resource",
    mainBucket: "core",
    // "Otherwise, wait for at least one minute before retrying."
    alsoLimits: {
      status: 403,
      body: /secondary rate limit|API rate limit exceeded|abuse detection/i,
      graphqlPath: "/graphql",
      // Both are in use: https://github.com/yanyongyu/githubkit/issues/271
      graphqlErrors: ["RATE_LIMITED", "RATE_LIMIT"],
      waitMs: 60_000,
    },
  },
  {
    name: "discord",
    source: "https://docs.discord.com/developers/topics/rate-limits",
    recognisedBy: ["x-ratelimit-bucket", "x-ratelimit-reset-after", "x-ratelimit-scope"],
    budgets: [
      {
        unit: "requests",
        limit: "x-ratelimit-limit",
        remaining: "x-ratelimit-remaining",
        reset: ["x-ratelimit-reset-after", "x-ratelimit-reset"],
      },
    ],
    bucket: "x-ratelimit-bucket",
  },
  {
    name: "stripe",
    source: "https://docs.stripe.com/rate-limits",
    recognisedBy: ["stripe-rate-limited-reason", "stripe-should-retry"],
    budgets: [],
    shouldRetry: "stripe-should-retry",
  },
  {
    name: "ietf",
    source: "https://datatracker.ietf.org/doc/html/draft-ietf-httpapi-ratelimit-headers-10",
    // Its budgets are lists: see ratelimit-fields.ts.
    recognisedBy: ["ratelimit"],
    budgets: [],
  },
  {
    name: "ratelimit",
    source: "https://datatracker.ietf.org/doc/html/draft-ietf-httpapi-ratelimit-headers-06",
    recognisedBy: ["ratelimit-remaining"],
    budgets: [named("ratelimit", "requests")],
  },
  {
    name: "x-ratelimit",
    source: "https://datatracker.ietf.org/doc/html/draft-polli-ratelimit-headers-00#appendix-A",
    recognisedBy: ["x-ratelimit-remaining"],
    budgets: [named("x-ratelimit", "requests")],
  },
  {
    name: "x-rate-limit",
    source: "https://docs.x.com/x-api/fundamentals/rate-limits",
    recognisedBy: ["x-rate-limit-remaining"],
    budgets: [named("x-rate-limit", "requests")],
  },
];
