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
      { text: "Lock out repeat offenders", link: "/how-to/blocks" },
      { text: "Use another framework", link: "/how-to/adapters" },
      { text: "Operate limiters from code", link: "/how-to/operate" },
      { text: "Change a limit without a deploy", link: "/how-to/overrides" },
      { text: "Look and act by command", link: "/how-to/acting" },
      { text: "See who uses what", link: "/how-to/usage" },
      { text: "Check an installation", link: "/how-to/doctor" },
      { text: "Find and delete keys", link: "/how-to/redis-keys" },
      { text: "Prepare for a Redis outage", link: "/how-to/redis-outages" },
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
    ],
  },
  {
    text: "Understand",
    collapsed: true,
    items: [
      { text: "Guarantees", link: "/understand/guarantees" },
      { text: "How a decision runs", link: "/understand/how-a-decision-runs" },
      { text: "When Redis fails", link: "/understand/when-redis-fails" },
      { text: "Outages, measured", link: "/understand/outages-measured" },
      { text: "How operating works", link: "/understand/operating" },
      { text: "Leases", link: "/understand/leases" },
      { text: "Memory", link: "/understand/memory" },
      { text: "Performance", link: "/understand/performance" },
      { text: "All figures", link: "/understand/performance-figures" },
      { text: "How a script comes to be", link: "/understand/scripts" },
    ],
  },
];
