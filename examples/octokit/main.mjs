// Octokit at the pace of a limiter. Somebody else spends half of the same credential's budget, so the API refuses before the limiter
// would: all calls wait for the new budget, and none is lost.
//
//   npx -y pnpm@10.34.9 build
//   node examples/octokit/main.mjs

import { createLimiter, fixedWindow } from "@headgate/core";
import { limitFetch } from "@headgate/fetch";
import { Octokit } from "octokit";
import { startGitHub } from "../providers/github.mjs";

const api = await startGitHub({ limit: 20, windowMs: 1_000, latencyMs: 20 });
const others = { headers: { authorization: "token secret" } };
for (let i = 0; i < 10; i += 1) await (await fetch(api.url, others)).text();

// GitHub's real budget is 5,000 an hour. With a store on Redis, all your processes share it.
const limiter = createLimiter({ name: "github", limits: fixedWindow({ limit: 20, window: "2s" }) });

const octokit = new Octokit({
  baseUrl: api.url,
  auth: "secret",
  request: { fetch: limitFetch({ limiter, key: () => "installation-1" }) },
  // They would pace each process by itself, and send again what was sent again already.
  throttle: { enabled: false },
  retry: { enabled: false },
});

const names = Array.from({ length: 25 }, (_, i) => `repository-${i}`);
const read = names.map(async (repo) => {
  const { data } = await octokit.rest.repos.get({ owner: "ada", repo });
  return data.full_name;
});
const repositories = new Set(await Promise.all(read));
const refused = api.arrivals.filter(({ status }) => status === 403).length;
console.log(`${repositories.size} repositories read, ${refused} requests refused`);
await limiter.close();
await api.stop();
