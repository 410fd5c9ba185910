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
    items: [{ text: "A first limit", link: "/start/" }],
  },
  {
    text: "How to",
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
    items: [],
  },
  {
    text: "Moving house",
    items: [{ text: "From express-rate-limit", link: "/moving/from-express-rate-limit" }],
  },
  {
    text: "Reference",
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
