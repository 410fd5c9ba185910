import { once } from "node:events";
import { request } from "node:http";
import { redisStore } from "@headgate/core/redis";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import { runExample } from "../../examples/run-example.ts";
import { createChat } from "../../examples/websocket/server.ts";
import { useLongStoreTimeout } from "../support/long-store-timeout.ts";
import { useOwnDatabase } from "../support/own-database.ts";
import { serve } from "../support/serve.ts";

useLongStoreTimeout();

const redis = useOwnDatabase();

let now: number;
let url: string;
beforeEach(async () => {
  now = Date.UTC(2030, 0, 1);
  const prefix = `chat-${Math.random()}`;
  url = await serve(createChat(redisStore(redis, { prefix, clock: () => now })));
});

/** Connects from an address of this machine; resolves with the socket, or the status that refused it. */
async function connect(from = "127.0.0.1"): Promise<WebSocket | number> {
  const ws = new WebSocket(url, { localAddress: from });
  onTestFinished(() => ws.terminate());
  return new Promise((resolve, reject) => {
    ws.once("open", () => resolve(ws));
    ws.once("unexpected-response", (request, { statusCode = 0 }) => {
      request.destroy();
      resolve(statusCode);
    });
    ws.on("error", reject);
  });
}

async function open(from?: string): Promise<WebSocket> {
  const ws = await connect(from);
  if (typeof ws === "number") throw new Error(`refused with ${ws}`);
  return ws;
}

/** Sends so many messages at once; resolves with the answers. */
async function say(ws: WebSocket, count: number): Promise<Record<string, unknown>[]> {
  const answers: Record<string, unknown>[] = [];
  const all = new Promise<void>((resolve) => {
    ws.on("message", (data) => {
      if (answers.push(JSON.parse(String(data))) === count) resolve();
    });
  });
  for (let i = 0; i < count; i += 1) ws.send(`message ${i}`);
  await all;
  ws.removeAllListeners("message");
  return answers;
}

test("a client has five connections, and a closed one makes room", async () => {
  const first = await open();
  for (let i = 1; i < 5; i += 1) await open();
  expect(await connect()).toBe(429);
  await open("127.0.0.2");
  first.close();
  await expect.poll(() => connect()).toBeInstanceOf(WebSocket);
});

test("a failed handshake holds no slot", async () => {
  for (let i = 0; i < 6; i += 1) {
    const headers = { connection: "upgrade", upgrade: "websocket" };
    const [response] = await once(request(url, { headers }).end(), "response");
    expect(response.statusCode).toBe(400);
    response.resume();
  }
  await expect.poll(() => connect()).toBeInstanceOf(WebSocket);
});

test("twenty messages pass in order, and the next gets the time to retry", async () => {
  const ws = await open();
  const answers = await say(ws, 21);
  const texts = Array.from({ length: 20 }, (_, i) => ({ type: "message", text: `message ${i}` }));
  expect(answers).toEqual([...texts, { type: "denied", retryAfterMs: 500 }]);
  // The limit is the client's, whichever connection it uses.
  expect(await say(await open(), 1)).toMatchObject([{ type: "denied" }]);
  expect(await say(await open("127.0.0.2"), 1)).toMatchObject([{ type: "message" }]);
  now += 500;
  await expect.poll(async () => (await say(ws, 1))[0]).toMatchObject({ type: "message" });
});

test("of 40 concurrent messages, 20 are answered before the connection is closed with 1008", async () => {
  const output = await runExample("websocket/client.mjs", { CHAT_URL: url });
  const lines = output.trimEnd().split("\n");
  expect(lines.slice(0, 20)).toEqual(
    Array.from({ length: 20 }, (_, i) => `{"type":"message","text":"message ${i}"}`),
  );
  const denials = Array.from({ length: 19 }, () => '{"type":"denied","retryAfterMs":500}');
  expect(lines.slice(20)).toEqual([...denials, "closed 1008 too many messages"]);
});
