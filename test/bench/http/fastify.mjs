import { createRequire } from "node:module";
import headgate from "@headgate/fastify";
import Fastify from "fastify";
import { headgateOptions, WINDOW_MS } from "./policy.mjs";

const rateLimit = createRequire(import.meta.url)("@fastify/rate-limit");

/** What each variant adds to the application. */
const ADDITIONS = {
  bare: () => {},
  constants: (app, { constants }) => app.addHook("onRequest", sendConstants(constants)),
  "Headgate, memory": (app, setup) => app.register(headgate, headgateOptions(setup)),
  "Headgate, Redis": (app, setup) => app.register(headgate, headgateOptions(setup)),
  "@fastify/rate-limit, memory": (app, setup) => app.register(rateLimit, peerOptions(setup)),
  "@fastify/rate-limit, Redis": (app, setup) =>
    app.register(rateLimit, {
      ...peerOptions(setup),
      redis: setup.client,
      nameSpace: `${setup.key}-`,
    }),
};

export const VARIANTS = Object.keys(ADDITIONS);

function peerOptions({ limit }) {
  return { max: limit, timeWindow: WINDOW_MS };
}

function sendConstants({ status, headers, body }) {
  return (_request, reply, done) => {
    for (const [name, value] of headers) reply.header(name, value);
    if (status === 200) done();
    else reply.code(status).send(body);
  };
}

/** Resolves with the port. */
export async function serve(setup) {
  const app = Fastify();
  await ADDITIONS[setup.variant](app, setup);
  app.get("/", async () => ({ hello: "world" }));
  await app.listen({ port: 0, host: "127.0.0.1" });
  return app.server.address().port;
}
