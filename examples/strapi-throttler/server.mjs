// A login and a forgotten password, limited as a CMS limits them.
//
//   npx -y pnpm@10.34.9 build
//   node examples/strapi-throttler/server.mjs
//   curl -i http://localhost:3000/api/auth/local -d '{"identifier":"ada@example.org"}'      (six times)

import { json } from "node:stream/consumers";
import Koa from "koa";
import { throttleAuthentication } from "./throttler.mjs";

const PATHS = ["/api/auth/local", "/api/auth/forgot-password"];

const throttle = throttleAuthentication();
const app = new Koa();

app.use(async (ctx, next) => {
  if (ctx.method === "POST") ctx.state["body"] = await json(ctx.req);
  await next();
});
app.use((ctx, next) => (PATHS.includes(ctx.path) ? throttle(ctx, next) : next()));
app.use((ctx) => {
  if (!PATHS.includes(ctx.path)) return;
  ctx.status = 400;
  ctx.body = {
    data: null,
    error: { status: 400, name: "ValidationError", message: "Invalid identifier or password" },
  };
});

const server = app.listen(Number(process.env["PORT"] ?? 3000), () => {
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  console.log(`listening on http://127.0.0.1:${port}`);
});
