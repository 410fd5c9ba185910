// The same API on Fastify.

import headgate, { byHeader } from "@headgate/fastify";
import type { FastifyInstance } from "fastify";
import Fastify from "fastify";
import { ApiError, denied, perWorkspace, toApiError } from "./api-error.ts";

export function createFastify(): FastifyInstance {
  const app = Fastify();

  app.setErrorHandler((error, _request, reply) => {
    const answer = toApiError(error);
    return reply.code(answer.statusCode).send(answer.toJSON());
  });

  app.register(headgate, {
    limits: perWorkspace,
    key: { workspace: byHeader("authorization") },
    headers: { reset: "epoch-ms" },
    onDenied(_request, _reply, decision) {
      throw denied(decision);
    },
  });

  app.get<{ Params: { id: string } }>("/links/:id", async ({ params }) => {
    if (params.id !== "github") throw new ApiError("not_found", "Link not found.");
    return { url: "https://github.com" };
  });

  return app;
}
