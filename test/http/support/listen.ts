import { once } from "node:events";
import type { RequestListener } from "node:http";
import { createServer, Server } from "node:http";
import { onTestFinished } from "vitest";

/** Serves on a free port of 127.0.0.1, or on a unix socket, until the test ends. */
export async function listen(app: RequestListener | Server, path?: string): Promise<Server> {
  const server = app instanceof Server ? app : createServer(app);
  if (path === undefined) server.listen(0, "127.0.0.1");
  else server.listen(path);
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  await once(server, "listening");
  return server;
}

/** A server as something to close, with its connections. */
export function closing(server: Server): { close(): Promise<void> } {
  return {
    async close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

export async function closeAll(all: readonly { close(): Promise<void> }[]): Promise<void> {
  await Promise.all(all.map((one) => one.close()));
}
