import { once } from "node:events";
import type { RequestListener, Server } from "node:http";
import { createServer } from "node:http";
import { onTestFinished } from "vitest";

/** Serves on a free port of 127.0.0.1, or on a unix socket, until the test ends. */
export async function listen(listener: RequestListener, path?: string): Promise<Server> {
  const server = createServer(listener);
  if (path === undefined) server.listen(0, "127.0.0.1");
  else server.listen(path);
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  await once(server, "listening");
  return server;
}
