// The service that fastify-upstream and express-upstream ask: it answers prices, and fails when asked to. Yours is somebody else's.

import { once } from "node:events";
import { createServer } from "node:http";

/** Starts it on a free port; resolves with where it is. */
export async function startUpstream() {
  let fails = false;
  const server = createServer((request, response) => {
    if (request.method === "PUT") fails = request.url === "/fail";
    else if (fails) response.statusCode = 500;
    response.end(JSON.stringify({ price: 3 }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = /** @type {import("node:net").AddressInfo} */ (server.address());
  return `http://127.0.0.1:${address.port}`;
}
