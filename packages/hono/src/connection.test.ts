import type { Context } from "hono";
import { Hono } from "hono";
import type { GetConnInfo } from "hono/conninfo";
import { describe, expect, test } from "vitest";
import type { Connection } from "./connection.ts";
import { readConnection, serverOf } from "./connection.ts";
import { FetchResponse } from "./fetch-response.ts";

/** Calls a function with the context of a request on a platform, whose properties are `env`. */
async function withContext<T>(env: object | undefined, read: (c: Context) => T): Promise<T> {
  const results: T[] = [];
  const app = new Hono().all("*", (c) => {
    results.push(read(c));
    return c.body(null);
  });
  await app.request("/", {}, env);
  return results[0] as T;
}

function connectionOn(
  env: object | undefined,
  needsResponse = false,
  getConnInfo?: GetConnInfo,
): Promise<Connection> {
  return withContext(env, (c) => readConnection(c, needsResponse, getConnInfo));
}

const nodeServer = { listening: true };
const outgoing = {};
const incoming = {
  headers: {},
  socket: { remoteAddress: "203.0.113.7", localAddress: "192.0.2.1", server: nodeServer },
};
const bun = {
  address: "203.0.113.8",
  requestIP() {
    // Bun's method needs its server.
    return { address: this.address };
  },
};
const header: GetConnInfo = () => ({ remote: { address: "198.51.100.9" } });

describe.each<[string, object, string, object]>([
  ["@hono/node-server", { incoming, outgoing }, "203.0.113.7", nodeServer],
  ["@hono/node-server inside Vite", { server: { incoming, outgoing } }, "203.0.113.7", nodeServer],
  ["Bun.serve", { server: bun }, "203.0.113.8", bun],
])("on %s", (_, env, address, server) => {
  test("the address is that of the connection", async () => {
    expect((await connectionOn(env)).client).toMatchObject({ address, peer: address });
  });

  test("getConnInfo replaces the address, and the peer is still that of the connection", async () => {
    const { client } = await connectionOn(env, false, header);
    expect(client).toMatchObject({ address: "198.51.100.9", peer: address });
  });

  test("the server is known, so that each server is warned once", async () => {
    expect(await withContext(env, serverOf)).toBe(server);
  });
});

test.each<[string, object | undefined, string | undefined]>([
  ["Bun, whose server is the environment", bun, "203.0.113.8"],
  ["Bun, after the connection was closed", { requestIP: () => null }, undefined],
  ["Deno", { remoteAddr: { hostname: "203.0.113.9", port: 1, transport: "tcp" } }, "203.0.113.9"],
  ["Deno on a Unix socket", { remoteAddr: { path: "/run/app", transport: "unix" } }, undefined],
  ["other platforms", { KV: {} }, undefined],
  ["app.request()", undefined, undefined],
])("the address on %s", async (_, env, address) => {
  expect((await connectionOn(env)).client).toMatchObject({ address, peer: address });
});

describe("the response", () => {
  test("is Node's own where there is one", async () => {
    expect(await connectionOn({ incoming, outgoing }, true)).toMatchObject({
      response: outgoing,
      created: undefined,
    });
  });

  test("is made only if it is needed", async () => {
    expect((await connectionOn(bun, false)).response).toBeUndefined();
    expect((await connectionOn(bun, true)).response).toBeInstanceOf(FetchResponse);
  });

  test("is shared by all limiters of a request, of which the first one created it", async () => {
    const [first, second] = await withContext(bun, (c) => [
      readConnection(c, true, undefined),
      readConnection(c, true, undefined),
    ]);
    expect(first?.created).toBe(first?.response);
    expect(second).toMatchObject({ response: first?.response, created: undefined });
  });
});

test("a client of the Fetch API has disconnected once its signal aborts", async () => {
  const leaving = new AbortController();
  const clients: Connection["client"][] = [];
  const app = new Hono().all("*", (c) => {
    clients.push(readConnection(c, false, undefined).client);
    return c.body(null);
  });
  await app.request("/", { signal: leaving.signal });
  expect(clients[0]?.isDisconnected()).toBe(false);
  leaving.abort();
  expect(clients[0]?.isDisconnected()).toBe(true);
});
