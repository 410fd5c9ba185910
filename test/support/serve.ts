import { once } from "node:events";
import type { RequestListener } from "node:http";
import { createServer, Server } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** Serves an application on a free port of 127.0.0.1 until the test ends; resolves with its URL. */
export async function serve(app: RequestListener | Server): Promise<string> {
  const server = app instanceof Server ? app : createServer(app);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
