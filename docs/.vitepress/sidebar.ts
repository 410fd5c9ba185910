import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";

/** A page, by its heading in the sidebar. */
interface Entry {
  readonly text: string;
  readonly link: string;
}

/** Pages that belong together, under one heading. */
interface Group {
  readonly text: string;
  readonly items: Entry[];
}

/** A part of the site: it has a sidebar of its own, on the pages under these paths. */
export interface Part {
  readonly text: string;
  readonly under: readonly string[];
  readonly items: (Entry | Group)[];
}

/** Where `api.mjs` writes its pages. */
const API = join(import.meta.dirname, "../reference/api");

/** Where `examples.mjs` writes its pages. */
const PROGRAMS = join(import.meta.dirname, "../examples");

/** The parts of the site, and their pages in the order in which they are best read. Every page is in one list. */
const PARTS: readonly Part[] = [
  {
    text: "Start",
    under: ["/start/"],
    items: [
      { text: "Start", link: "/start/" },
      { text: "Share a limit through Redis", link: "/start/with-redis" },
    ],
  },
  {
    text: "How to",
    under: ["/how-to/", "/recipes/", "/moving/", "/examples/"],
    items: [
      { text: "How-tos by question", link: "/how-to/" },
      {
        text: "Frameworks",
        items: [
          { text: "Use Fastify", link: "/how-to/fastify" },
          { text: "Use Express", link: "/how-to/express" },
          { text: "Use Hono", link: "/how-to/hono" },
          { text: "Use NestJS", link: "/how-to/nestjs" },
          { text: "Next.js, tRPC and GraphQL", link: "/how-to/next-trpc-graphql" },
          { text: "Use another framework", link: "/how-to/adapters" },
          { text: "Limit jobs, mails and calls", link: "/how-to/jobs" },
          { text: "Call another API", link: "/how-to/call-another-api" },
          { text: "Guard an upstream", link: "/how-to/guard-an-upstream" },
          { text: "Shed load", link: "/how-to/shed-load" },
        ],
      },
      {
        text: "Limits",
        items: [
          { text: "Choose a limit", link: "/how-to/choosing-a-limit" },
          { text: "Test limits against a log", link: "/how-to/replay" },
          { text: "Introduce or change a limit", link: "/how-to/change-a-limit" },
          { text: "Decide several limits at once", link: "/how-to/several-limits" },
          { text: "Give each plan its own limits", link: "/how-to/plans" },
          { text: "Limit what runs at once, or make it wait", link: "/how-to/concurrency" },
          { text: "Charge what a request really cost", link: "/how-to/real-cost" },
        ],
      },
      {
        text: "Who is counted",
        items: [
          { text: "Count by key, account or address", link: "/how-to/keys" },
          { text: "Limit behind a proxy or a CDN", link: "/how-to/proxies" },
          { text: "Let clients pass, refuse or block them", link: "/how-to/blocks" },
        ],
      },
      {
        text: "Answers",
        items: [{ text: "Limits for a public API", link: "/how-to/public-api" }],
      },
      {
        text: "Operate",
        items: [
          { text: "Why does a client get 429?", link: "/how-to/why-429" },
          { text: "Set up monitoring", link: "/how-to/operate" },
          { text: "Look and act", link: "/how-to/acting" },
          { text: "See a fleet in a browser", link: "/how-to/dashboard" },
          { text: "Check an installation", link: "/how-to/doctor" },
          { text: "Kubernetes", link: "/how-to/kubernetes" },
          { text: "Runbook", link: "/how-to/runbook" },
        ],
      },
      {
        text: "Recipes",
        items: [
          { text: "Protect a login", link: "/recipes/login" },
          { text: "Monthly quotas and budgets", link: "/recipes/monthly-quota" },
          { text: "Tools of an MCP server", link: "/recipes/mcp-tools" },
          { text: "WebSocket, Socket.IO", link: "/recipes/websocket" },
          { text: "Tests of your application", link: "/recipes/testing" },
          { text: "Serverless, edge, several regions", link: "/recipes/serverless" },
        ],
      },
      {
        text: "Move from another limiter",
        items: [
          { text: "From express-rate-limit", link: "/moving/from-express-rate-limit" },
          { text: "From @fastify/rate-limit", link: "/moving/from-fastify-rate-limit" },
          { text: "From rate-limiter-flexible", link: "/moving/from-rate-limiter-flexible" },
          { text: "From @nestjs/throttler", link: "/moving/from-nestjs-throttler" },
          { text: "From Bottleneck", link: "/moving/from-bottleneck" },
        ],
      },
    ],
  },
  {
    text: "Reference",
    under: ["/reference/"],
    items: [
      {
        text: "Limiters",
        items: [
          { text: "Options", link: "/reference/options" },
          { text: "Limits", link: "/reference/limits" },
          { text: "The limiter", link: "/reference/limiter" },
          { text: "Events", link: "/reference/events" },
          { text: "Errors and warnings", link: "/reference/errors" },
          { text: "Breaker", link: "/reference/breaker" },
          { text: "Load shedder", link: "/reference/shed" },
        ],
      },
      {
        text: "Redis",
        items: [
          { text: "Keys, permissions, clusters", link: "/reference/redis" },
          { text: "Usage and the registry", link: "/reference/usage" },
        ],
      },
      {
        text: "Operators",
        items: [{ text: "The command", link: "/reference/cli" }],
      },
      {
        text: "Headgate",
        items: [{ text: "Versions", link: "/reference/versions" }],
      },
    ],
  },
  {
    text: "Understand",
    under: ["/understand/"],
    items: [
      {
        text: "What to expect",
        items: [
          { text: "Guarantees", link: "/understand/guarantees" },
          { text: "When Redis fails", link: "/understand/when-redis-fails" },
          { text: "Security and threat model", link: "/understand/security" },
          { text: "Compare limiters", link: "/understand/comparison" },
        ],
      },
      {
        text: "How it works",
        items: [{ text: "Leases", link: "/understand/leases" }],
      },
      {
        text: "Figures",
        items: [
          { text: "Performance", link: "/understand/performance" },
          { text: "Sizing", link: "/understand/sizing" },
        ],
      },
    ],
  },
];

/** The parts, with the pages of the API and of the programs as they are now. */
export function readParts(): Part[] {
  const generated: Readonly<Record<string, Group>> = {
    Reference: { text: "API", items: readApiPages() },
    "How to": { text: "Programs", items: readPrograms() },
  };
  return PARTS.map((part) => {
    const group = generated[part.text];
    return group === undefined || group.items.length === 0
      ? part
      : { ...part, items: [...part.items, group] };
  });
}

function readPrograms(): Entry[] {
  if (!existsSync(PROGRAMS)) return [];
  return readdirSync(PROGRAMS)
    .sort()
    .map((file) => {
      const name = file.replace(/\.md$/, "");
      const text = name.replaceAll("-", " ");
      return { text: text.charAt(0).toUpperCase() + text.slice(1), link: `/examples/${name}` };
    });
}

/** The paths of a part's pages, in its order. */
export function linksOf({ items }: Part): string[] {
  return items.flatMap((item) =>
    "link" in item ? [item.link] : item.items.map(({ link }) => link),
  );
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
