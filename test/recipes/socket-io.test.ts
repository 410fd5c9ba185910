import { once } from "node:events";
import { createServer } from "node:http";
import { createLimiter, gcra } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { Server } from "socket.io";
import type { Socket } from "socket.io-client";
import { io } from "socket.io-client";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { createChat } from "../../examples/socket-io/server.ts";
import { useLongStoreTimeout } from "../support/long-store-timeout.ts";
import { useOwnDatabase } from "../support/own-database.ts";
import { serve } from "../support/serve.ts";

useLongStoreTimeout();

const redis = useOwnDatabase();

let now: number;
let handled: unknown[];
let url: string;
beforeEach(async () => {
  now = Date.UTC(2030, 0, 1);
  handled = [];
  const store = redisStore(redis, { prefix: `events-${Math.random()}`, clock: () => now });
  url = await serve(
    createChat(store, {
      async message(text) {
        await redis.ping();
        handled.push(text);
        return { text };
      },
    }),
  );
});

/** A connection of a client; resolves when the server has taken or refused it. */
async function connect(transport = "websocket"): Promise<Socket> {
  const socket = io(url, { transports: [transport], forceNew: true, reconnection: false });
  onTestFinished(() => void socket.disconnect());
  await Promise.race([once(socket as never, "connect"), once(socket as never, "connect_error")]);
  return socket;
}

/** Sends so many events at once, of which each is acknowledged. */
function say(socket: Socket, count: number, event = "message"): Promise<unknown>[] {
  return Array.from({ length: count }, (_, i) => socket.timeout(20_000).emitWithAck(event, i));
}

test("of 40 concurrent events, 20 are handled in order before the connection ends", async () => {
  const socket = await connect();
  const ended = once(socket as never, "disconnect");
  const answers = await Promise.all(say(socket, 40));
  const texts = Array.from({ length: 20 }, (_, i) => i);
  expect(handled).toEqual(texts);
  expect(answers.slice(0, 20)).toEqual(texts.map((text) => ({ text })));
  expect(answers.slice(20)).toEqual(
    Array.from({ length: 20 }, () => ({ denied: true, retryAfterMs: 500 })),
  );
  expect((await ended)[0]).toBe("io server disconnect");
});

test("a client that waits as told keeps its connection", async () => {
  const socket = await connect();
  await Promise.all(say(socket, 25));
  now += 500;
  // The deny cache keeps a denial for `retryAfterMs` on the process's own clock.
  await expect.poll(() => say(socket, 1)[0], { interval: 100 }).toEqual({ text: 0 });
  expect(socket.connected).toBe(true);
});

test("events without a handler count, and so do those of other connections", async () => {
  const [one, other] = [await connect(), await connect()];
  await Promise.all(say(one, 20, "constructor"));
  expect(await say(other, 1)[0]).toMatchObject({ denied: true });
  expect(handled).toEqual([]);
});

test("a flood beyond the backlog ends the connection, after all that was allowed", async () => {
  const socket = await connect();
  const ended = once(socket as never, "disconnect");
  for (let i = 0; i < 1_000; i += 1) socket.emit("message", i);
  await ended;
  expect(handled).toHaveLength(20);
});

test("the eleventh connection in a minute is rejected with the time to retry", async () => {
  for (let i = 0; i < 10; i += 1) expect((await connect()).connected).toBe(true);
  const socket = io(url, { transports: ["websocket"], forceNew: true, reconnection: false });
  onTestFinished(() => void socket.disconnect());
  const [error] = await once(socket as never, "connect_error");
  expect(error).toMatchObject({ message: "too many connections", data: { retryAfterMs: 6_000 } });
});

test("disconnecting at the denial loses the events before it", async () => {
  const store = redisStore(redis, { prefix: `events-${Math.random()}` });
  const limits = gcra({ limit: 20, window: "10s" });
  const events = createLimiter({ name: "events", store, limits });
  await events.ready();
  const server = createServer();
  new Server(server).on("connection", (socket) => {
    socket.use((_event, next) => {
      void events.consume("client").then(({ allowed }) => {
        if (allowed) next();
        else socket.disconnect(true);
      });
    });
    socket.on("message", (text) => handled.push(text));
  });
  url = await serve(server);
  // All events in one request, so that none comes earlier than the others.
  const socket = await connect("polling");
  const ended = once(socket as never, "disconnect");
  for (let i = 0; i < 40; i += 1) socket.emit("message", i);
  await ended;
  // Socket.IO runs a handler a tick after `next`, and only of a connection that is open then.
  expect(handled.length).toBeLessThanOrEqual(1);
});
