import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { connect } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { watchResponse } from "./response-end.ts";

/** More than the buffers of a connection take. */
const LARGE = Buffer.alloc(1 << 24);

interface Exchange {
  readonly response: ServerResponse;
  /** The response before it, if several requests were sent. */
  readonly first: ServerResponse;
  /** The client's end of the connection, which reads nothing yet. */
  readonly client: Socket;
  /** The end of the response, as it is reported. */
  readonly events: readonly string[];
}

function watch(response: ServerResponse): string[] {
  const events: string[] = [];
  watchResponse(response, {
    onEnded: (status) => events.push(`ended with ${status}`),
    onSent: () => events.push("sent"),
    onDisconnected: () => events.push("disconnected"),
  });
  return events;
}

/** Sends requests on one connection. The test responds to them; the last response is watched. */
async function exchange({ isHalfOpen = false, requests = 1 } = {}): Promise<Exchange> {
  const responses: ServerResponse[] = [];
  const server = createServer((_, response) => responses.push(response));
  Object.assign(server, { httpAllowHalfOpen: isHalfOpen });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const client = connect({ port, host: "127.0.0.1", allowHalfOpen: true }).pause();
  onTestFinished(() => {
    client.destroy();
    server.close();
  });
  client.on("error", () => {});
  client.write("GET / HTTP/1.1\r\nHost: here\r\n\r\n".repeat(requests));
  await vi.waitFor(() => expect(responses).toHaveLength(requests));
  const response = responses.at(-1) as ServerResponse;
  return { response, first: responses[0] as ServerResponse, client, events: watch(response) };
}

test("a response is sent when the whole of it has been handed to the network", async () => {
  const { response, client, events } = await exchange();
  response.statusCode = 404;
  response.end(LARGE);
  expect(events).toEqual(["ended with 404"]);
  client.resume();
  await once(response, "finish");
  expect(events).toEqual(["ended with 404", "sent"]);
});

test.each<[string, (exchange: Exchange) => unknown]>([
  ["its connection is destroyed", ({ response }) => response.socket?.destroy()],
  ["its connection fails", ({ response }) => response.socket?.destroy(new Error("broken"))],
  ["its client resets the connection", ({ client }) => client.resetAndDestroy()],
])("a response of which a part is not sent when %s is not sent", async (_, end) => {
  const one = await exchange();
  one.response.socket?.on("error", () => {});
  one.response.end(LARGE);
  const closed = once(one.response, "close");
  end(one);
  await closed;
  expect(one.events).toEqual(["ended with 200", "disconnected"]);
});

test("a response is sent although its client has ended its half of the connection after the request", async () => {
  const { response, client, events } = await exchange();
  const { socket } = response;
  response.end(LARGE);
  client.end();
  await vi.waitFor(() => expect(socket?.writableEnded).toBe(true));
  expect(events).toEqual(["ended with 200"]);
  client.resume();
  await once(response, "finish");
  expect(events).toEqual(["ended with 200", "sent"]);
});

test("a client that has ended its half of the connection before the response has disconnected", async () => {
  const { response, client, events } = await exchange();
  client.end();
  await once(response.socket as Socket, "end");
  expect(events).toEqual(["disconnected"]);
});

test("a client that ends its half has not disconnected from a server that allows half-open connections", async () => {
  const { response, client, events } = await exchange({ isHalfOpen: true });
  client.end();
  await once(response.socket as Socket, "end");
  expect(events).toEqual([]);
  response.end("hello");
  client.resume();
  await once(response, "finish");
  expect(events).toEqual(["ended with 200", "sent"]);
});

test.each<[string, (client: Socket) => unknown]>([
  ["resets the connection", (client) => client.resetAndDestroy()],
  ["ends its half of it", (client) => client.end()],
])(
  "a pipelined response that waits for its turn is not sent if its client %s",
  async (_, leave) => {
    const { response, first, client, events } = await exchange({ requests: 2 });
    // So much that the connection stays open until its client has read it.
    first.write(LARGE);
    response.end("hello");
    expect(events).toEqual(["ended with 200"]);
    leave(client);
    await vi.waitFor(() => expect(events).toEqual(["ended with 200", "disconnected"]));
  },
);

test("a response that is watched late reports the past, and gets no listener", async () => {
  const { response, client } = await exchange();
  client.resume();
  response.statusCode = 404;
  response.end("nobody");
  await once(response, "finish");
  // As if nothing had watched it before.
  const unwatched = Object.create(response) as ServerResponse;
  const before = response.listenerCount("finish");
  expect(watch(unwatched)).toEqual(["ended with 404", "sent"]);
  expect(response.listenerCount("finish")).toBe(before);
});

test("a response whose connection is already closed is reported as disconnected, and gets no listener", async () => {
  const { response, client } = await exchange();
  client.resetAndDestroy();
  await once(response, "close");
  const unwatched = Object.create(response) as ServerResponse;
  const before = response.listenerCount("finish");
  expect(watch(unwatched)).toEqual(["disconnected"]);
  expect(response.listenerCount("finish")).toBe(before);
});
