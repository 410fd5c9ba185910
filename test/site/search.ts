import { readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { search } from "../../docs/.vitepress/search.ts";
import { ROOT } from "../docs/markdown.ts";
import { DIST } from "./build-site.ts";

/** Queries of newcomers and operators, and the page that answers them. */
const QUERIES: readonly (readonly [query: string, page: string])[] = [
  ["testing", "/recipes/testing"],
  ["brute force", "/recipes/login"],
  ["fail open", "/understand/when-redis-fails"],
  ["sliding window", "/how-to/choosing-a-limit"],
  ["Docker", "/how-to/kubernetes"],
  ["captcha", "/recipes/login"],
  ["OpenAI", "/how-to/real-cost"],
  ["comparison", "/understand/comparison"],
  ["Next.js", "/how-to/next-trpc-graphql"],
  ["tRPC", "/how-to/next-trpc-graphql"],
  ["GraphQL", "/how-to/next-trpc-graphql"],
  ["Kubernetes", "/how-to/kubernetes"],
  ["ElastiCache", "/reference/redis"],
  ["multi-tenant", "/how-to/plans"],
  ["CORS", "/how-to/public-api"],
  ["Retry-After", "/how-to/public-api"],
  ["upstash", "/recipes/serverless"],
  ["x-forwarded-for", "/how-to/proxies"],
  ["ban", "/how-to/blocks"],
  ["prometheus", "/how-to/operate"],
  ["429", "/how-to/why-429"],
  ["semaphore", "/how-to/concurrency"],
  ["GDPR", "/understand/security"],
];

interface Result {
  readonly id: string;
}

/** Tests the search on the index of the built site, with the options that its search box has. */
export function testSearch(): void {
  test.each(QUERIES)('a search for "%s" finds %s among the first three', async (query, page) => {
    const index = await loadIndex();
    const found = index.search(query).slice(0, 3);
    expect(found.map(({ id }) => id.split("#")[0])).toContain(page);
  });
}

async function loadIndex(): Promise<{ search(query: string): readonly Result[] }> {
  const chunks = join(DIST, "assets/chunks");
  const file = readdirSync(chunks).find((name) => name.startsWith("@localSearchIndexroot"));
  if (file === undefined) throw new Error("the site has no index of its search");
  const { default: json } = await import(pathToFileURL(join(chunks, file)).href);
  // The search box's own library, and its own options.
  const site = createRequire(join(ROOT, "docs/package.json"));
  const MiniSearch = createRequire(site.resolve("vitepress/package.json"))("minisearch");
  return MiniSearch.loadJSON(json, {
    fields: ["title", "titles", "text"],
    storeFields: ["title", "titles"],
    searchOptions: {
      fuzzy: 0.2,
      prefix: true,
      boost: { title: 4, text: 2, titles: 1 },
      ...search.options.miniSearch?.searchOptions,
    },
  });
}
