import type { Rejection } from "@headgate/core/http";
import type { FastifyReply } from "fastify";

/** Answers a request that does not go on. */
export function reject(reply: FastifyReply, { status, contentType, body }: Rejection): void {
  // Bytes, because a serializer of the route or a hook would change even a finished string.
  reply.code(status).header("content-type", contentType).send(Buffer.from(body));
}
