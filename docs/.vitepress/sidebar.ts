import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";

/** A page, by its heading in the sidebar. */
interface Entry {
  readonly text: string;
  readonly link: string;
}

/** A part of the sidebar. */
interface Part {
  readonly text: string;
  readonly items: readonly Entry[];
}

/** Where `api.mjs` writes its pages. */
const API = join(import.meta.dirname, "../reference/api");

/** The parts of the site, and their pages in the order in which they are best read. Every page is in one list. */
const PARTS: readonly Part[] = [
  {
    text: "Start",
    items: [
      { text: "A first limit", link: "/start/" },
      { text: "Share a limit through Redis", link: "/start/with-redis" },
      { text: "Choose whom to limit", link: "/start/whom-to-limit" },
      { text: "Try limits on your traffic", link: "/start/your-traffic" },
    ],
  },
  {
    text: "How to",
    items: [
      { text: "Choose a limit", link: "/how-to/choosing-a-limit" },
      { text: "Introduce a limit", link: "/how-to/introduce-a-limit" },
      { text: "Change a limit", link: "/how-to/change-a-limit" },
      { text: "Count by key, account or address", link: "/how-to/keys" },
      { text: "Limit behind a proxy or a CDN", link: "/how-to/proxies" },
      { text: "Let clients pass, or refuse them", link: "/how-to/lists" },
      { text: "Decide several limits at once", link: "/how-to/several-limits" },
      { text: "Give each plan its own limits", link: "/how-to/plans" },
      { text: "Set a quota by the calendar", link: "/how-to/calendar-windows" },
      { text: "Read limits from a file", link: "/how-to/limits-from-a-file" },
      { text: "Count only some answers", link: "/how-to/count-some-answers" },
      { text: "Charge what it really cost", link: "/how-to/real-cost" },
      { text: "Charge each limit differently", link: "/how-to/cost-by-limit" },
      { text: "Limit what runs at the same time", link: "/how-to/concurrency" },
      { text: "Make requests wait", link: "/how-to/wait" },
      { text: "Answer denials yourself", link: "/how-to/own-answer" },
      { text: "Lock out repeat offenders", link: "/how-to/blocks" },
      { text: "Use Fastify", link: "/how-to/fastify" },
      { text: "Use Express", link: "/how-to/express" },
      { text: "Use another framework", link: "/how-to/adapters" },
      { text: "Guard an upstream", link: "/how-to/guard-an-upstream" },
      { text: "Limit without HTTP", link: "/how-to/without-http" },
      { text: "Edit limits under hot reload", link: "/how-to/hot-reload" },
      { text: "Operate limiters from code", link: "/how-to/operate" },
      { text: "Change a limit without a deploy", link: "/how-to/overrides" },
      { text: "Look and act by command", link: "/how-to/acting" },
      { text: "Why does a client get 429?", link: "/how-to/why-429" },
      { text: "See who uses what", link: "/how-to/usage" },
      { text: "Check an installation", link: "/how-to/doctor" },
      { text: "Find and delete keys", link: "/how-to/redis-keys" },
      { text: "Prepare for a Redis outage", link: "/how-to/redis-outages" },
      { text: "Runbook", link: "/how-to/runbook" },
    ],
  },
  {
    text: "Recipes",
    items: [
      { text: "Protect a login", link: "/recipes/login" },
      { text: "Plans from a database", link: "/recipes/plans" },
      { text: "A limit for each customer", link: "/recipes/per-customer" },
      { text: "A gateway to a language model", link: "/recipes/language-model-gateway" },
      { text: "Behind a proxy", link: "/recipes/behind-a-proxy" },
      { text: "WebSocket messages", link: "/recipes/websocket" },
      { text: "Two at a time", link: "/recipes/two-at-a-time" },
      { text: "Webhooks out", link: "/recipes/webhooks" },
      { text: "Jobs across a fleet", link: "/recipes/jobs" },
      { text: "Monthly quotas", link: "/recipes/monthly-quota" },
      { text: "A new limit in shadow first", link: "/recipes/shadow-first" },
      { text: "Tests of your application", link: "/recipes/testing" },
      { text: "Serverless and edge", link: "/recipes/serverless" },
      { text: "Several regions", link: "/recipes/several-regions" },
    ],
  },
  {
    text: "Moving house",
    items: [
      { text: "From express-rate-limit", link: "/moving/from-express-rate-limit" },
      { text: "From @fastify/rate-limit", link: "/moving/from-fastify-rate-limit" },
      { text: "From rate-limiter-flexible", link: "/moving/from-rate-limiter-flexible" },
      { text: "From @nestjs/throttler", link: "/moving/from-nestjs-throttler" },
      { text: "From Bottleneck", link: "/moving/from-bottleneck" },
    ],
  },
  {
    text: "Reference",
    items: [
      { text: "Options", link: "/reference/options" },
      { text: "Limits", link: "/reference/limits" },
      { text: "Requests", link: "/reference/http" },
      { text: "Headers", link: "/reference/headers" },
      { text: "Decisions", link: "/reference/decision" },
      { text: "The limiter", link: "/reference/limiter" },
      { text: "Events", link: "/reference/events" },
      { text: "Special cases", link: "/reference/special-cases" },
      { text: "Breaker", link: "/reference/breaker" },
      { text: "The adapter API", link: "/reference/adapter-api" },
      { text: "Errors", link: "/reference/errors" },
      { text: "Faults", link: "/reference/faults" },
      { text: "Channels", link: "/reference/channels" },
      { text: "Metrics", link: "/reference/telemetry" },
      { text: "The command", link: "/reference/cli" },
      { text: "Replay and recommend", link: "/reference/replay" },
      { text: "Redis: keys and permissions", link: "/reference/redis" },
      { text: "The operator", link: "/reference/operator" },
      { text: "The directory", link: "/reference/directory" },
      { text: "Usage", link: "/reference/usage" },
      { text: "Versions", link: "/reference/versions" },
    ],
  },
  {
    text: "Understand",
    items: [
      { text: "Which algorithm", link: "/understand/algorithms" },
      { text: "Guarantees", link: "/understand/guarantees" },
      { text: "How a decision runs", link: "/understand/how-a-decision-runs" },
      { text: "When Redis fails", link: "/understand/when-redis-fails" },
      { text: "Outages, measured", link: "/understand/outages-measured" },
      { text: "How operating works", link: "/understand/operating" },
      { text: "Leases", link: "/understand/leases" },
      { text: "Memory", link: "/understand/memory" },
      { text: "The breaker", link: "/understand/breaker" },
      { text: "Performance", link: "/understand/performance" },
      { text: "All figures", link: "/understand/performance-figures" },
      { text: "Sizing", link: "/understand/sizing" },
      { text: "Security", link: "/understand/security" },
      { text: "How it is built", link: "/understand/how-it-is-built" },
      { text: "How a script comes to be", link: "/understand/scripts" },
    ],
  },
];

/** The parts that have pages, with the pages of the API as they are now. */
export function readParts(): Part[] {
  const parts = PARTS.flatMap((part) =>
    part.text === "Reference" ? [part, { text: "API", items: readApiPages() }] : [part],
  );
  return parts.filter(({ items }) => items.length > 0);
}

/** The page `core-http.md` is about `@headgate/core/http`. */
function readApiPages(): Entry[] {
  if (!existsSync(API)) return [];
  const names = readdirSync(API).map((file) => file.replace(/\.md$/, ""));
  return [
    { text: "All entries", link: "/reference/api/" },
    ...names
      .filter((name) => name !== "index")
      .sort()
      .map((name) => ({
        text: `@headgate/${name.replace("-", "/")}`,
        link: `/reference/api/${name}`,
      })),
  ];
}
