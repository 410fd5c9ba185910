// Handlers of Request and Response, as those of Next.js's routes: each client address gets 5 requests and a new one every
// 12 seconds, and some routes have limits of their own. This server stands for the platform that calls them.
//
//   npx -y pnpm@10.34.9 build
//   ADDRESS_HEADER=x-real-ip node examples/route-handlers/server.mjs
//   curl -i -H "x-real-ip: 203.0.113.7" http://localhost:3000/search      (three times)

import { serve } from "@hono/node-server";
import { account, health, home, report, search } from "./routes.mjs";

/** @type {Readonly<Record<string, (request: Request) => Response | Promise<Response>>>} */
const ROUTES = {
  "/": home,
  "/search": search,
  "/reports": report,
  "/account": account,
  "/health": health,
};

/** @param {Request} request */
async function answer(request) {
  const handler = ROUTES[new URL(request.url).pathname];
  if (handler === undefined) return new Response("no such page", { status: 404 });
  try {
    return await handler(request);
  } catch (error) {
    const { message } = /** @type {Error} */ (error);
    return new Response(message, { status: 500 });
  }
}

serve({ fetch: answer, port: Number(process.env["PORT"] ?? 3000) }, ({ port }) => {
  console.log(`listening on http://127.0.0.1:${port}`);
});
