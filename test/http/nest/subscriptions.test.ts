import { setTimeout as delay } from "node:timers/promises";
import type { RateLimitOptions } from "@headgate/nestjs";
import { byHeader, fixedWindow, HeadgateModule, RateLimit } from "@headgate/nestjs";
import { ApolloDriver } from "@nestjs/apollo";
import { GraphQLModule, Query, Resolver, Subscription } from "@nestjs/graphql";
import { createClient } from "graphql-ws";
import { describe, expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import { recordDecisions } from "../support/record-decisions.ts";
import { decorate, makeNest } from "./serve-nest.ts";

const limits = fixedWindow({ limit: 1, window: "1h" });
const typeDefs = "type Query { hello: String } type Subscription { ticks: Int }";

type Send = (query: string) => Promise<unknown>;

/** Serves GraphQL over graphql-ws until the test ends. Each call sends an operation, and resolves with its first result. */
async function serveGraphql(
  options: RateLimitOptions,
  { context }: { readonly context?: unknown } = {},
): Promise<{ readonly overSocket: Send; readonly overHttp: Send }> {
  class Ticks {
    hello(): string {
      return "world";
    }
    async *ticks(): AsyncGenerator<object> {
      yield { ticks: 1 };
      await delay(60_000, undefined, { ref: false });
    }
  }
  decorate(Ticks, "hello", Query("hello"));
  decorate(Ticks, "ticks", Subscription("ticks"), RateLimit({ ...options, name: "ticks" }));
  Resolver()(Ticks);
  const app = await makeNest({
    imports: [
      HeadgateModule.forRoot(options),
      GraphQLModule.forRoot({
        driver: ApolloDriver,
        typeDefs,
        playground: false,
        subscriptions: { "graphql-ws": true },
        ...(context === undefined ? {} : { context }),
      }),
    ],
    providers: [Ticks],
  });
  onTestFinished(() => app.close());
  await app.listen(0, "127.0.0.1");
  const { port } = app.getHttpServer().address();
  const headers = { "x-user": "ada" };
  class Socket extends WebSocket {
    constructor(url: string, protocol: string) {
      super(url, protocol, { headers });
    }
  }
  const client = createClient({
    url: `ws://127.0.0.1:${port}/graphql`,
    webSocketImpl: Socket,
    retryAttempts: 0,
  });
  onTestFinished(() => void client.dispose());
  return {
    async overSocket(query) {
      const { value } = await client.iterate({ query }).next();
      return value;
    },
    async overHttp(query) {
      const answer = await fetch(`http://127.0.0.1:${port}/graphql`, {
        method: "POST",
        headers: { ...headers, "content-type": "application/json" },
        body: JSON.stringify({ query }),
      });
      return answer.json();
    },
  };
}

const denied = {
  errors: [{ extensions: { code: "RATE_LIMITED", retryAfterMs: expect.any(Number) } }],
};

describe.each([
  ["Nest's own context", undefined],
  [
    "a function that returns req and res",
    ({ req, res }: Record<string, unknown>) => ({ req, res }),
  ],
  ["a function that returns the context of graphql-ws", (context: object) => context],
  ["an object", { tenant: "acme" }],
])("with %s as the GraphQL context", (_, context) => {
  test("a subscription over a WebSocket is counted by the address of the connection", async () => {
    const published = recordDecisions();
    const { overSocket } = await serveGraphql({ limits }, { context });
    expect(await overSocket("subscription { ticks }")).toMatchObject({ data: { ticks: 1 } });
    expect(await overSocket("subscription { ticks }")).toMatchObject(denied);
    expect(published.map(({ subject }) => subject)).toContainEqual({ default: "127.0.0.1" });
  });

  test("a query counts together over a WebSocket and over HTTP", async () => {
    const { overSocket, overHttp } = await serveGraphql({ limits }, { context });
    expect(await overSocket("{ hello }")).toEqual({ data: { hello: "world" } });
    expect(await overHttp("{ hello }")).toMatchObject(denied);
  });
});

test("a subscription is counted by a header of the request that opened its WebSocket", async () => {
  const { overSocket } = await serveGraphql({
    limits,
    key: byHeader("x-user"),
    missingKey: "reject",
  });
  expect(await overSocket("subscription { ticks }")).toMatchObject({ data: { ticks: 1 } });
  expect(await overSocket("subscription { ticks }")).toMatchObject(denied);
});

test("each field of a query over a WebSocket is counted by itself", async () => {
  const { overSocket } = await serveGraphql({ limits });
  expect(await overSocket("{ a: hello b: hello }")).toMatchObject({
    data: { a: "world", b: null },
    ...denied,
  });
});

test("a count that needs the response is refused over a WebSocket", async () => {
  const { overSocket } = await serveGraphql({ limits, count: "failed" });
  expect(await overSocket("subscription { ticks }")).toMatchObject({
    errors: [{ message: expect.stringContaining("count") }],
  });
});

test("a GraphQL context without a request says which one is needed", async () => {
  const { overSocket } = await serveGraphql({ limits }, { context: () => ({ req: { mine: 1 } }) });
  expect(await overSocket("{ hello }")).toMatchObject({
    errors: [{ message: expect.stringContaining("or the one that opened its WebSocket") }],
  });
});
