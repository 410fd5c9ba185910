import { redisStore } from "@headgate/core/redis";
import { beforeEach, expect, test } from "vitest";
import { createApp } from "../../examples/graphql-cost/server.ts";
import { page } from "../docs/markdown.ts";
import { useLongStoreTimeout } from "../support/long-store-timeout.ts";
import { useOwnDatabase } from "../support/own-database.ts";
import { serve } from "../support/serve.ts";

useLongStoreTimeout();

const redis = useOwnDatabase();

let url: string;
beforeEach(async () => {
  const now = Date.UTC(2030, 0, 1);
  const store = redisStore(redis, { prefix: `graphql-${Math.random()}`, clock: () => now });
  url = await serve(createApp(store));
});

interface Answered {
  readonly data?: unknown;
  readonly errors?: readonly { message: string; extensions?: Record<string, unknown> }[];
  readonly extensions?: { readonly cost: { readonly most: number; readonly real: number } };
}

async function send(
  query: string,
  others: object = {},
): Promise<Answered & { status: number; left: number }> {
  const answer = await fetch(`${url}/graphql`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ query, ...others }),
  });
  const left = Number(answer.headers.get("x-ratelimit-remaining"));
  return { ...((await answer.json()) as Answered), status: answer.status, left };
}

async function costOf(query: string, others?: object) {
  const { extensions, errors } = await send(query, others);
  return extensions?.cost ?? errors;
}

test.each<[string, string, object, number, number]>([
  ["scalars of one object", "{ authors(first: 1) { name } }", {}, 1, 1],
  ["a list by its default", "{ authors { name } }", {}, 10, 3],
  ["lists in lists", "{ authors(first: 10) { books(first: 20) { title } } }", {}, 210, 8],
  ["an object in each", "{ authors(first: 1) { books(first: 2) { author { name } } } }", {}, 5, 5],
  [
    "aliases, each by itself",
    "{ a: authors(first: 2) { name } b: authors(first: 2) { name } }",
    {},
    4,
    4,
  ],
  ["nothing", "{ authors(first: 0) { name } }", {}, 0, 0],
  [
    "fragments",
    `{ authors(first: 2) { ...Both ... on Author { books(first: 1) { title } } } }
     fragment Both on Author { books(first: 1) { title } }`,
    {},
    6,
    4,
  ],
  [
    "a variable",
    "query ($n: Int!) { authors(first: $n) { name } }",
    { variables: { n: 50 } },
    50,
    3,
  ],
  [
    "the default of a variable",
    "query ($n: Int = 100) { authors(first: $n) { name } }",
    {},
    100,
    3,
  ],
  [
    "the operation that is run",
    "query A { authors(first: 1) { name } } query B { authors(first: 2) { name } }",
    { operationName: "B" },
    2,
    2,
  ],
])("the cost of %s", async (_, query, others, most, real) => {
  expect(await costOf(query, others)).toEqual({ most, real });
});

test("items that were not read are refunded", async () => {
  const query = "{ authors(first: 90) { books(first: 10) { title } } }";
  // 990 of 1,000 each, of which 8 are read.
  for (let i = 0; i < 2; i += 1) expect((await send(query)).status).toBe(429 - 229);
  expect((await send("{ authors(first: 1) { name } }")).left).toBe(983);
});

test("a denial has the time to retry, and runs no resolver", async () => {
  const query = "{ authors(first: 100) { books(first: 5) { title } } }";
  const spend = "{ authors(first: 3) { books(first: 2) { author { books { title } } } } }";
  for (let i = 0; i < 40; i += 1) await send(spend);
  const denied = await send(query);
  expect(denied.status).toBe(429);
  expect(denied.data).toBeUndefined();
  const [error] = denied.errors ?? [];
  expect(error?.extensions).toEqual({
    code: "RATE_LIMITED",
    cost: 600,
    retryAfterSeconds: expect.any(Number),
  });
});

test("a query beyond the whole budget gets an error that says so", async () => {
  const { status, errors } = await send("{ authors(first: 100) { books(first: 10) { title } } }");
  expect(status).toBe(429);
  expect(errors?.[0]?.extensions).toEqual({ code: "QUERY_TOO_LARGE", cost: 1_100 });
});

test.each<[string, string, object?]>([
  ["no query", ""],
  ["a syntax error", "{ authors"],
  ["an unknown field", "{ editors { name } }"],
  ["introspection", "{ __schema { types { name } } }"],
  ["a longer list", "{ authors(first: 101) { name } }"],
  ["a negative list", "{ authors(first: -1) { name } }"],
  ["a missing variable", "query ($n: Int!) { authors(first: $n) { name } }"],
  [
    "a variable of another type",
    "query ($n: Int!) { authors(first: $n) { name } }",
    { variables: { n: "1" } },
  ],
  ["an unknown operation", "query A { authors { name } }", { operationName: "B" }],
])("%s is rejected before it is counted", async (_, query, others) => {
  const { status, errors } = await send(query, others);
  expect(status).toBe(400);
  expect(errors).toHaveLength(1);
  expect((await send("{ authors(first: 1) { name } }")).left).toBe(999);
});

test("nested fragments are analysed in linear time", async () => {
  const levels = 25;
  const fragments = Array.from(
    { length: levels },
    (_, i) =>
      `fragment F${i} on Author { a: books(first: 9) { author { ...F${i + 1} } } b: books(first: 9) { author { ...F${i + 1} } } }`,
  );
  const query = `{ authors { ...F0 } } ${fragments.join(" ")} fragment F${levels} on Author { name }`;
  const { errors } = await send(query);
  expect(errors?.[0]?.extensions).toEqual({ code: "QUERY_TOO_LARGE", cost: 1_000_000_000 });
});

test("the page shows the real responses", async () => {
  const { text, blocks } = page("docs/how-to/real-cost.md");
  const shown = blocks
    .filter(({ language }) => language === "json")
    .map(({ text }) => JSON.parse(text));
  const { extensions } = await send("{ authors(first: 10) { books(first: 20) { title } } }");
  expect(shown[0]).toEqual(extensions);
  expect(text).toContain("authors(first: 10) { books(first: 20) { title } }");
});
