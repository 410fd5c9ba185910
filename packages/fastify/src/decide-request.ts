import type { Verdict } from "@headgate/core/http";
import { clientOf, HeadgateDenied, settle } from "@headgate/core/http";
import type { FastifyReply, FastifyRequest } from "fastify";
import { answerDenied } from "./on-denied.ts";
import { reject } from "./reject.ts";
import type { Rule } from "./rule.ts";
import { setHeaders } from "./set-headers.ts";

/** A hook's callback, with an error or without. */
export type Done = (error?: Error) => void;

/** Decides one request, and lets it go on or answers it. Nothing is awaited before the address is read. */
export function decideRequest(
  rule: Rule,
  request: FastifyRequest,
  reply: FastifyReply,
  done: Done,
): void {
  const decided = rule.guard.check(request, clientOf(request.ip, request.raw), reply.raw, reply);
  void settle(decided, (verdict) => answer(verdict, request, reply, rule), done);
}

/** Applies a verdict to the reply, and returns whether the request goes on. Throws or rejects with what goes to the error handler. */
function answer(
  verdict: Verdict,
  request: FastifyRequest,
  reply: FastifyReply,
  { onDenied, warn }: Rule,
): boolean | Promise<boolean> {
  if (verdict.kind === "left") {
    reply.hijack();
    return false;
  }
  if (verdict.kind === "pass") return true;
  // Something else may have answered meanwhile, for example on a timeout.
  if (reply.sent) return false;
  if (verdict.kind !== "refused") request.rateLimit = verdict.decision;
  if (verdict.kind === "denied" && typeof onDenied === "function") {
    return answerDenied(onDenied, request, reply, verdict, warn);
  }
  setHeaders(reply, verdict.headers);
  if (verdict.kind === "allowed") return true;
  if (verdict.kind === "denied" && onDenied === "error") {
    reply.raw.statusCode = verdict.rejection.status;
    throw new HeadgateDenied(verdict.decision);
  }
  reject(reply, verdict.rejection);
  return false;
}
