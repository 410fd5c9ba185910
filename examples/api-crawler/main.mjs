// Three processes crawl an API with two credentials, each of which has a budget. They share the budgets through Redis, and wait
// together if the API refuses one of them: no page is lost or read twice.
//
//   npx -y pnpm@10.34.9 build
//   REDIS_URL=redis://127.0.0.1:6379 node examples/api-crawler/main.mjs

import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { startGitHub } from "../providers/github.mjs";

const PAGES = 180;
const PROCESSES = 3;

// GitHub gives each credential 5,000 requests an hour. An hour of this mock server takes a second or two.
const api = await startGitHub({ limit: 50, windowMs: 1_000, latencyMs: 10 });

const children = Array.from({ length: PROCESSES }, (_, i) => {
  const pages = Array.from({ length: PAGES / PROCESSES }, (_, page) => page * PROCESSES + i);
  return fork(join(import.meta.dirname, "process.mjs"), [api.url, ...pages.map(String)]);
});
const counts = await Promise.all(children.map((child) => once(child, "message")));

const read = api.arrivals.filter(({ status }) => status === 200);
console.log(`each process: ${counts.map(([count]) => count).join(" ")} pages`);
console.log(`together: ${new Set(read.map(({ url }) => url.pathname)).size} pages`);
console.log(`requests: ${read.length}, and ${api.arrivals.length - read.length} refused`);
await api.stop();
