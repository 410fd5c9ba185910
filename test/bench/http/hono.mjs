import { rateLimit as headgate } from "@headgate/hono";
import { serve as listen } from "@hono/node-server";
import { getConnInfo } from "@hono/node-server/conninfo";
import { Hono } from "hono";
import { rateLimiter } from "hono-rate-limiter";
import { headgateOptions, WINDOW_MS } from "./policy.mjs";

/** hono-rate-limiter has no X-RateLimit headers: both send the two of the draft. */
const HEADERS = { legacy: false };

/** Middleware of each variant; undefined adds none. */
const MIDDLEWARE = {
  bare: () => undefined,
  constants: ({ constants }) => sendConstants(constants),
  "Headgate, memory": (setup) => headgate({ ...headgateOptions(setup), headers: HEADERS }),
  "Headgate, Redis": (setup) => headgate({ ...headgateOptions(setup), headers: HEADERS }),
  "hono-rate-limiter, memory": ({ limit }) =>
    rateLimiter({
      limit,
      windowMs: WINDOW_MS,
      standardHeaders: "draft-7",
      keyGenerator: (c) => getConnInfo(c).remote.address ?? "",
    }),
};

export const VARIANTS = Object.keys(MIDDLEWARE);

function sendConstants({ status, headers, body }) {
  return async (c, next) => {
    for (const [name, value] of headers) c.header(name, value);
    if (status !== 200) return c.body(body, status);
    await next();
  };
}

/** Resolves with the port. */
export async function serve(setup) {
  const app = new Hono();
  const middleware = MIDDLEWARE[setup.variant](setup);
  if (middleware !== undefined) app.use(middleware);
  app.get("/", (c) => c.json({ hello: "world" }));
  return new Promise((resolve) => {
    listen({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }, ({ port }) => resolve(port));
  });
}
