import type { ExecutionContext } from "@nestjs/common";
import { describe, expect, test } from "vitest";
import { readContext, requestOf, routeOf } from "./limited-context.ts";

const ADDRESS = "203.0.113.7";
const headers = { "x-user": "ann" };
const socket = { remoteAddress: ADDRESS, destroyed: false };

class OrdersResolver {
  list(): void {}
}

/** A context of a kind, with the arguments of its handler. */
function contextOf(kind: string, args: readonly unknown[]): ExecutionContext {
  return {
    getType: () => kind,
    getArgs: () => args,
    getClass: () => OrdersResolver,
    getHandler: () => OrdersResolver.prototype.list,
    switchToHttp: () => ({ getRequest: () => args[0], getResponse: () => args[1] }),
    switchToWs: () => ({ getClient: () => args[0] }),
  } as unknown as ExecutionContext;
}

const graphql = (own: object, info: object = {}): ExecutionContext =>
  contextOf("graphql", [undefined, {}, own, info]);

describe("the client of a context is found", () => {
  const node = { headers, socket };
  test.each<[string, ExecutionContext]>([
    ["Express", contextOf("http", [{ ip: ADDRESS, headers, socket }, {}])],
    ["Fastify", contextOf("http", [{ ip: ADDRESS, headers, raw: { socket } }, { raw: {} }])],
    ["Apollo", graphql({ req: { ip: ADDRESS, headers, socket }, res: {} })],
    ["Mercurius", graphql({ reply: { request: { ip: ADDRESS, headers, raw: { socket } } } })],
    [
      "graphql-ws, whose context Apollo puts in place of the request",
      graphql({ req: { extra: { request: node } } }),
    ],
    ["graphql-ws itself", graphql({ extra: { request: node } })],
    ["Socket.IO", contextOf("ws", [{ handshake: { address: ADDRESS, headers } }])],
  ])("in %s, with its headers", (_, context) => {
    const { client, request } = readContext(context);
    expect(client.address).toBe(ADDRESS);
    expect(client.isDisconnected()).toBe(false);
    expect(request.headers).toEqual(headers);
  });

  test("in ws, which has no headers for a message", () => {
    const { client, request } = readContext(contextOf("ws", [{ _socket: socket, readyState: 1 }]));
    expect(client.address).toBe(ADDRESS);
    expect(request.headers).toEqual({});
  });
});

test.each<[string, object]>([
  ["ws", { _socket: socket, readyState: 2 }],
  ["Socket.IO", { handshake: { address: ADDRESS, headers }, disconnected: true }],
])("a client of %s that has disconnected is noticed", (_, client) => {
  expect(readContext(contextOf("ws", [client])).client.isDisconnected()).toBe(true);
});

test.each<[string, readonly [request: object, reply: object], unknown]>([
  ["Express", [{ ip: ADDRESS, headers, socket }, { id: "reply" }], { id: "reply" }],
  ["Fastify", [{ ip: ADDRESS, headers, raw: { socket } }, { raw: { id: "raw" } }], { id: "raw" }],
])("the end of a response of %s is that of Node's response", (_, args, node) => {
  const { reply, response } = readContext(contextOf("http", args));
  expect(reply).toBe(args[1]);
  expect(response).toEqual(node);
});

test("each field of a query is a request of its own, and one for all of its guards", () => {
  const own = { req: { ip: ADDRESS, headers, socket } };
  const [first, second] = [{ fieldName: "a" }, { fieldName: "b" }];
  const { request } = readContext(graphql(own, first));
  expect(readContext(graphql(own, first)).request).toBe(request);
  expect(requestOf(first)).toBe(request);
  expect(readContext(graphql(own, second)).request).not.toBe(request);
});

test("a request or a message is the same for all guards of its context", () => {
  const request = { ip: ADDRESS, headers, socket };
  const message = { handshake: { address: ADDRESS, headers } };
  for (const context of [contextOf("http", [request, {}]), contextOf("ws", [message])]) {
    const first = readContext(context).request;
    expect(readContext(context).request).toBe(first);
    expect(requestOf(context)).toBe(first);
  }
});

test.each<[string, ExecutionContext, RegExp]>([
  ["a GraphQL context without a request", graphql({}), /let the GraphQL context have it as req/],
  ["a message of a microservice", contextOf("rpc", [{}]), /not "rpc"; put @SkipRateLimit\(\)/],
])("%s is an error that names the remedy", (_, context, remedy) => {
  expect(() => readContext(context)).toThrow(remedy);
});

test.each<[string, ExecutionContext, string | undefined]>([
  [
    "Express",
    contextOf("http", [{ method: "GET", route: { path: "/orders/:id" } }]),
    "GET /orders/:id",
  ],
  [
    "Fastify",
    contextOf("http", [{ method: "PUT", routeOptions: { url: "/orders" } }]),
    "PUT /orders",
  ],
  ["a request without a route", contextOf("http", [{ method: "GET" }]), undefined],
  ["GraphQL", graphql({}), "OrdersResolver.list"],
])("the route of %s is as the application wrote it", (_, context, route) => {
  expect(routeOf(context)).toBe(route);
});
