// The same login behind Fastify.

import type { Store } from "@headgate/fastify";
import headgate from "@headgate/fastify";
import type { FastifyInstance } from "fastify";
import Fastify from "fastify";
import { account, deviceCookie, isRight, protection } from "./server.ts";

export function createFastify(store: Store): FastifyInstance {
  const app = Fastify({ trustProxy: "loopback" });

  // The account is known when the body has been read.
  app.register(headgate, { ...protection(store), hook: "preHandler" });

  app.post("/login", async (request, reply) => {
    if (!isRight(request)) return reply.code(401).send({ error: "wrong address or password" });
    await app.headgate.resetClient(request);
    reply.header("set-cookie", deviceCookie(request));
    return { welcome: account(request) };
  });

  return app;
}
