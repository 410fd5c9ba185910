import type { Decision } from "@headgate/core";
import type { Client, Guard, Rejection, Verdict } from "@headgate/core/http";
import { HeadgateDenied, settle } from "@headgate/core/http";
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
  void settle(
    guard.check(request, clientOf(request)),
    (verdict) => answer(verdict, request, reply, onDenied),
    done,
  );
}

/** Puts a verdict on the reply, and tells whether the request goes on. Throws or rejects with what goes to the error handler. */
function answer(
  verdict: Verdict,
  request: FastifyRequest,
  reply: FastifyReply,
  onDenied: HeadgateOptions["onDenied"],
): boolean | Promise<boolean> {
  if (verdict.kind === "left") {
    reply.hijack();
    return false;
  }
  if (verdict.kind === "pass") return true;
  // Something else may have answered meanwhile, on a timeout for instance.
  if (reply.sent) return false;
  for (const [name, value] of verdict.headers) {
    if (value === undefined) reply.removeHeader(name);
    else reply.header(fieldOf(name), value);
  }
  if (verdict.kind !== "refused") request.rateLimit = verdict.decision;
  if (verdict.kind === "allowed") return true;
  reply.code(verdict.rejection.status);
  if (verdict.kind === "denied" && onDenied !== undefined) {
    if (onDenied === "error") throw new HeadgateDenied(verdict.decision);
    return letAnswer(onDenied, request, reply, verdict);
  }
  return reject(reply, verdict.rejection);
}

/** Header names as Fastify keeps them, which would lower their case for every request. */
const fields = new Map<string, string>();

function fieldOf(name: string): string {
  const known = fields.get(name);
  if (known !== undefined) return known;
  const field = name.toLowerCase();
  fields.set(name, field);
  return field;
}

function reject(reply: FastifyReply, { contentType, body }: Rejection): false {
  // Bytes: a serializer that the route or a hook chose would have its way even with a finished string.
  reply.header("content-type", contentType).send(Buffer.from(body));
  return false;
}

/** Lets `onDenied` answer a denied request, and answers if it did not. The request does not go on. */
async function letAnswer(
  onDenied: OnDenied,
  request: FastifyRequest,
  reply: FastifyReply,
  { decision, rejection }: Verdict & { readonly kind: "denied" },
): Promise<false> {
  const isAnswered = await hasAnswered(onDenied, request, reply, decision);
  if (!isAnswered) reject(reply, rejection);
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
