// Events of Socket.IO: docs/recipes/websocket.md says more.

import type { Server as HttpServer } from "node:http";
import { createServer } from "node:http";
import type { Store } from "@headgate/core";
import { createLimiter, gcra } from "@headgate/core";
import { subjectOfAddress } from "@headgate/core/http";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import type { Event, Socket } from "socket.io";
import { Server } from "socket.io";

/** So many denied events in a row end a connection. */
const PATIENCE = 20;

/** So many events of a connection may wait for their turn; more end it. */
const BACKLOG = 100;

/** The handler of an event; the client gets its result. */
type Handler = (...args: readonly unknown[]) => unknown;

/** Who is counted. Yours comes from a token in `socket.handshake.auth` that you check. */
const clientOf = ({ handshake }: Socket) => subjectOfAddress(handshake.address);

export function createChat(store: Store, handlers: Readonly<Record<string, Handler>>): HttpServer {
  const connects = createLimiter({
    name: "connects",
    store,
    limits: gcra({ limit: 10, window: "1m" }),
  });
  const events = createLimiter({
    name: "events",
    store,
    limits: gcra({ limit: 20, window: "10s" }),
  });

  /** Answers the events of a connection one after another. */
  function talk(socket: Socket): void {
    const client = clientOf(socket);
    let turn = Promise.resolve();
    let waiting = 0;
    let denials = 0;

    async function answer([name, ...args]: Event): Promise<void> {
      waiting -= 1;
      if (!socket.connected) return;
      const done = typeof args.at(-1) === "function" ? args.pop() : () => {};
      const { allowed, retryAfterMs } = await events.consume(client);
      if (allowed) {
        denials = 0;
        const handler = Object.hasOwn(handlers, name) ? handlers[name] : undefined;
        done(await handler?.(...args));
        return;
      }
      denials += 1;
      done({ denied: true, retryAfterMs });
      // Everything before it has been answered.
      if (denials === PATIENCE) socket.disconnect(true);
    }

    // Middleware sees every event, known or not. It never calls next: the handler runs in its turn.
    socket.use((event) => {
      waiting += 1;
      if (waiting <= BACKLOG) turn = turn.then(() => answer(event)).catch(console.error);
      else if (waiting === BACKLOG + 1) turn = turn.then(() => void socket.disconnect(true));
    });
  }

  const server = createServer();
  const io = new Server(server, { maxHttpBufferSize: 65_536 });
  io.use((socket, next) => {
    connects.consume(clientOf(socket)).then(({ allowed, retryAfterMs }) => {
      if (allowed) next();
      else next(Object.assign(new Error("too many connections"), { data: { retryAfterMs } }));
    }, next);
  });
  io.on("connection", talk);
  return server;
}

// Started as a program, not imported by a test.
if (process.argv[1] === import.meta.filename) {
  const store = redisStore(new Redis());
  createChat(store, { message: (text) => ({ text }) }).listen(3000);
}
