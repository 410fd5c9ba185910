import type { Decision } from "@headgate/core";
import type { Client, Guard, Verdict } from "@headgate/core/http";
import { HeadgateDenied, toError } from "@headgate/core/http";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { HeadgateOptions, OnDenied } from "./options.ts";

/** How Fastify is told that a hook is done, with an error or without. */
export type Done = (error?: Error) => void;

/** Decides one request, and goes on or answers. Nothing is awaited before the address is read. */
export function decideRequest(
  guard: Guard<FastifyRequest>,
  onDenied: HeadgateOptions["onDenied"],
  request: FastifyRequest,
  reply: FastifyReply,
  done: Done,
): void {
  guard
    .check(request, clientOf(request))
    .then((verdict) => answer(verdict, request, reply, onDenied))
    .then(
      (goesOn) => goesOn && done(),
      (reason) => done(toError(reason)),
    );
}

/** Puts a verdict on the reply. Resolves with whether the request goes on; rejects with what goes to the error handler. */
async function answer(
  verdict: Verdict,
  request: FastifyRequest,
  reply: FastifyReply,
  onDenied: HeadgateOptions["onDenied"],
): Promise<boolean> {
  if (verdict.kind === "left") {
    reply.hijack();
    return false;
  }
  if (verdict.kind === "pass") return true;
  // Something else may have answered meanwhile, on a timeout for instance.
  if (reply.sent) return false;
  for (const [name, value] of verdict.headers) {
    if (value === undefined) reply.removeHeader(name);
    else reply.header(name, value);
  }
  if (verdict.kind !== "refused") request.rateLimit = verdict.decision;
  if (verdict.kind === "allowed") return true;
  const { status, contentType, body } = verdict.rejection;
  reply.code(status);
  if (verdict.kind === "denied" && onDenied !== undefined) {
    if (onDenied === "error") throw new HeadgateDenied(verdict.decision);
    if (await hasAnswered(onDenied, request, reply, verdict.decision)) return false;
  }
  // Bytes, because a string would still go through a serializer of the route's own.
  reply.header("Content-Type", contentType).send(Buffer.from(body));
  return false;
}

/**
 * Runs `onDenied`. Resolves with whether it answered: `reply.sent` alone would not tell of a stream, nor of a payload that
 * waits for an onSend hook.
 */
async function hasAnswered(
  onDenied: OnDenied,
  request: FastifyRequest,
  reply: FastifyReply,
  decision: Decision,
): Promise<boolean> {
  let hasSent = false;
  const { send } = reply;
  reply.send = (payload?: unknown) => {
    hasSent = true;
    return send.call(reply, payload);
  };
  try {
    const result = await onDenied(request, reply, decision);
    return hasSent || result === reply || reply.sent || reply.raw.headersSent;
  } catch (error) {
    // A bug in it must not look like a denial.
    if (!hasSent) reply.code(200).removeHeader("Retry-After");
    throw error;
  } finally {
    reply.send = send;
  }
}

function clientOf(request: FastifyRequest): Client {
  const { socket } = request.raw;
  return {
    address: request.ip,
    peer: socket?.remoteAddress,
    // Over HTTP/2 a stream that is gone has no socket any more.
    hasLeft: () => request.raw.socket?.destroyed !== false,
  };
}
