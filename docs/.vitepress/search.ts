import type { DefaultTheme, MarkdownEnv } from "vitepress";

/** Words that people search for where a page says it differently, by the page, or the section of it, that answers. */
const SYNONYMS: Readonly<Record<string, string>> = {
  "how-to/adapters.md": "koa hapi node:http custom middleware",
  "how-to/blocks.md":
    "ban bans banned penalty blacklist whitelist allowlist denylist fail2ban bots",
  "how-to/call-another-api.md": "outgoing outbound client sdk octokit shopify throttle",
  "how-to/choosing-a-limit.md":
    "algorithm algorithms leaky bucket token bucket sliding window fixed window GCRA",
  "how-to/concurrency.md": "semaphore mutex bulkhead queue parallel simultaneous throttle",
  "how-to/dashboard.md": "admin ui console monitoring grafana",
  "how-to/express.md": "express middleware throttle throttling",
  "how-to/jobs.md": "worker bullmq cron email sms webhooks throttle outgoing",
  "how-to/kubernetes.md":
    "docker container pods helm readiness liveness probe rolling deploy graceful shutdown SIGTERM",
  "how-to/operate.md": "prometheus opentelemetry otel grafana datadog metrics alerts monitoring",
  "how-to/plans.md": "tiers pricing subscription saas free premium",
  "how-to/plans.md#multi-tenant": "multitenant tenants organisations saas",
  "how-to/proxies.md": "x-forwarded-for cloudflare load balancer nginx real ip trust proxy",
  "how-to/public-api.md#what-clients-see":
    "retry-after x-ratelimit ratelimit headers response retry-after header",
  "how-to/public-api.md#browsers-cors": "cors browser preflight access-control expose headers",
  "how-to/real-cost.md": "openai anthropic llm gpt tokens ai model usage billing credits",
  "how-to/runbook.md": "incident on-call outage emergency",
  "how-to/shed-load.md": "overload overloaded backpressure under-pressure toobusy load shedding",
  "how-to/why-429.md": "too many requests debug explain rejected denied",
  "recipes/login.md": "brute force bruteforce credential stuffing password captcha lockout otp",
  "recipes/mcp-tools.md": "ai agent agents llm tool",
  "recipes/serverless.md": "lambda vercel edge cloudflare workers upstash cold start",
  "recipes/testing.md": "testing test tests jest vitest mock mocking fake timers",
  "reference/redis.md#managed-redis":
    "elasticache memorydb upstash azure dragonfly keydb aws gcp cloud hosted",
  "start/with-redis.md": "docker compose distributed cluster shared several processes",
  "understand/comparison.md": "comparison compare alternative alternatives versus vs benchmark",
  "understand/guarantees.md": "exact accuracy race condition atomic correctness",
  "understand/security.md": "threat model gdpr privacy personal data ddos attack vulnerability",
  "understand/when-redis-fails.md":
    "fail open fail closed failover fallback down outage unavailable circuit",
};

/** Synonyms weigh as much as a heading. */
const TIMES = 4;

/** The index of the search: each page as it is, with its synonyms behind the heading that they belong to. */
export const search: {
  readonly provider: "local";
  readonly options: DefaultTheme.LocalSearchOptions;
} = {
  provider: "local",
  options: {
    _render(source, env: MarkdownEnv, markdown) {
      const html = markdown.render(source, env);
      return Object.entries(SYNONYMS).reduce((page, [key, words]) => {
        const [path, anchor] = key.split("#");
        return path === env.relativePath ? withSynonyms(page, anchor, words) : page;
      }, html);
    },
    miniSearch: {
      searchOptions: {
        // Pages of the API and of programs repeat the words of every option.
        boostDocument: (id: string) => (/\/(?:reference\/api|examples)\//.test(id) ? 0.3 : 1),
      },
    },
  },
};

function withSynonyms(html: string, anchor: string | undefined, words: string): string {
  const heading = anchor === undefined ? /<\/h1>/ : new RegExp(`<h\\d id="${anchor}".*?</h\\d>`);
  const at = heading.exec(html);
  if (at === null) throw new Error(`no heading ${anchor ?? "of the page"} for "${words}"`);
  const end = at.index + at[0].length;
  return `${html.slice(0, end)}<p>${`${words} `.repeat(TIMES)}</p>${html.slice(end)}`;
}
