// WebSocket connections and messages: docs/recipes/websocket.md says more.

import { on } from "node:events";
import type { IncomingMessage, Server } from "node:http";
import { createServer } from "node:http";
import type { Duplex } from "node:stream";
import type { Store } from "@headgate/core";
import { concurrency, createLimiter, gcra, HeadgateError } from "@headgate/core";
import { subjectOfAddress } from "@headgate/core/http";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import type { WebSocket } from "ws";
import { WebSocketServer } from "ws";

/** So many denied messages in a row end a connection. */
const PATIENCE = 20;

/** Who is counted. Yours comes from a token that you check here, before the upgrade. */
const clientOf = (request: IncomingMessage) =>
  subjectOfAddress(String(request.socket.remoteAddress));

export function createChat(store: Store): Server {
  const connections = createLimiter({
    name: "connections",
    store,
    limits: concurrency({ limit: 5, ttl: "30s" }),
  });
  const messages = createLimiter({
    name: "messages",
    store,
    limits: gcra({ limit: 20, window: "10s" }),
  });

  // #region talk
  /** Answers messages one after another, until the client is gone or was denied too often. */
  async function talk(ws: WebSocket, client: string): Promise<void> {
    let denials = 0;
    // Reads no further while so many messages wait.
    const buffer = { highWaterMark: 32, lowWaterMark: 8 };
    for await (const [data] of on(ws, "message", { close: ["close"], ...buffer })) {
      const { allowed, retryAfterMs } = await messages.consume(client);
      if (allowed) {
        denials = 0;
        ws.send(JSON.stringify({ type: "message", text: String(data) }));
        continue;
      }
      denials += 1;
      if (denials === PATIENCE) ws.close(1008, "too many messages");
      else ws.send(JSON.stringify({ type: "denied", retryAfterMs }));
    }
  }
  // #endregion

  const sockets = new WebSocketServer({ noServer: true, maxPayload: 65_536 });

  async function connect(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const closed = new Promise((resolve) => socket.once("close", resolve));
    const client = clientOf(request);
    // Holds a slot until the connection is closed, and rejects at once if none is free.
    await connections.run(
      client,
      async ({ signal }) => {
        signal.addEventListener("abort", () => socket.destroy());
        sockets.handleUpgrade(request, socket, head, (ws) => {
          talk(ws, client).catch(() => ws.terminate());
        });
        await closed;
      },
      { timeout: 0 },
    );
  }

  const server = createServer((_, response) => response.writeHead(426).end());
  server.on("upgrade", (request, socket, head) => {
    socket.on("error", () => socket.destroy());
    connect(request, socket, head).catch((error: unknown) => {
      const isDenied = error instanceof HeadgateError && error.code === "HEADGATE_DENIED";
      const status = isDenied ? "429 Too Many Requests" : "500 Internal Server Error";
      socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
    });
  });
  return server;
}

// Started as a program, not imported by a test.
if (process.argv[1] === import.meta.filename) createChat(redisStore(new Redis())).listen(3000);
