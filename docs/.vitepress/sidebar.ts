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
      { text: "Use another framework", link: "/how-to/adapters" },
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
    items: [
      { text: "Protect a login", link: "/recipes/login" },
      { text: "Plans from a database", link: "/recipes/plans" },
      { text: "A limit for each customer", link: "/recipes/per-customer" },
      { text: "A gateway to a language model", link: "/recipes/language-model-gateway" },
      { text: "Behind a proxy", link: "/recipes/behind-a-proxy" },
      { text: "WebSocket messages", link: "/recipes/websocket" },
      { text: "Two at a time", link: "/recipes/two-at-a-time" },
    ],
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
      { text: "Errors", link: "/reference/errors" },
      { text: "Metrics", link: "/reference/telemetry" },
      { text: "The command", link: "/reference/cli" },
      { text: "Redis: keys and permissions", link: "/reference/redis" },
      { text: "The directory", link: "/reference/directory" },
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
      { text: "Performance", link: "/understand/performance" },
      { text: "How a script comes to be", link: "/understand/scripts" },
    ],
  },
];
