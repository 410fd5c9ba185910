import type { DefaultTheme } from "vitepress";

/** The four parts of the site, and their pages in the order in which they are best read. Every page is in one list. */
export const PARTS: readonly DefaultTheme.SidebarItem[] = [
  {
    text: "Start",
    items: [{ text: "A first limit", link: "/start/" }],
  },
  {
    text: "How to",
    collapsed: true,
    items: [
      { text: "Choose a limit", link: "/how-to/choosing-a-limit" },
      { text: "Lock out who exceeds it", link: "/how-to/blocks" },
      { text: "Use Fastify", link: "/how-to/fastify" },
      { text: "Use Express", link: "/how-to/express" },
      { text: "Use another framework", link: "/how-to/adapters" },
      { text: "Guard an upstream", link: "/how-to/guard-an-upstream" },
      { text: "Operate limiters", link: "/how-to/operate" },
      { text: "Change a limit without a deploy", link: "/how-to/overrides" },
      { text: "Look and act by command", link: "/how-to/acting" },
      { text: "See who uses what", link: "/how-to/usage" },
      { text: "Check an installation", link: "/how-to/doctor" },
      { text: "Runbook", link: "/how-to/runbook" },
    ],
  },
  {
    text: "Recipes",
    collapsed: true,
    items: [],
  },
  {
    text: "Moving house",
    collapsed: true,
    items: [{ text: "From express-rate-limit", link: "/moving/from-express-rate-limit" }],
  },
  {
    text: "Reference",
    collapsed: true,
    items: [
      { text: "HTTP", link: "/reference/http" },
      { text: "Special cases", link: "/reference/special-cases" },
      { text: "Breaker", link: "/reference/breaker" },
      { text: "Errors", link: "/reference/errors" },
      { text: "Metrics", link: "/reference/telemetry" },
      { text: "The command", link: "/reference/cli" },
      { text: "Redis: keys and permissions", link: "/reference/redis" },
      { text: "The directory", link: "/reference/directory" },
      { text: "Versions", link: "/reference/versions" },
    ],
  },
  {
    text: "Understand",
    collapsed: true,
    items: [
      { text: "Guarantees", link: "/understand/guarantees" },
      { text: "When Redis fails", link: "/understand/when-redis-fails" },
      { text: "Leases", link: "/understand/leases" },
      { text: "Memory", link: "/understand/memory" },
      { text: "The breaker", link: "/understand/breaker" },
      { text: "Performance", link: "/understand/performance" },
      { text: "Sizing", link: "/understand/sizing" },
      { text: "How a script comes to be", link: "/understand/scripts" },
    ],
  },
];
