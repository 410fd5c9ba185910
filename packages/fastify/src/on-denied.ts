import type { Decision } from "@headgate/core";
import type { Verdict, Warn } from "@headgate/core/http";
import type { DeniedResponse } from "@headgate/core/internal-http";
import { BODY_HEADERS, handleDenial } from "@headgate/core/internal-http";
import type { FastifyReply, FastifyRequest } from "fastify";
import { isPayload, reject, setHeaders, watchReply } from "./reply.ts";

/**
 * Responds to a denied request, whose status, headers and `Retry-After` are already set. If it has not responded when it settles,
 * Headgate does, unless it returns or resolves `"allow"`: then the request continues, and costs nothing.
 */
export type OnDenied = (
  request: FastifyRequest,
  reply: FastifyReply,
  decision: Decision,
) => unknown;

/**
 * Calls `onDenied`, and responds if it did not. Resolves with whether the request continues. Rejects with the error for the error
 * handler.
 */
export async function respondToDenial(
  onDenied: OnDenied,
  request: FastifyRequest,
  reply: FastifyReply,
  verdict: Verdict & { readonly kind: "denied" },
  warn: Warn,
): Promise<boolean> {
  let watched: ReturnType<typeof watchReply> | undefined;
  const isSent = (): boolean => watched?.hasSent === true || reply.sent;
  const denial = {
    node: reply.raw,
    withRaw: reply,
    getHeader: (name: string) => reply.getHeader(name),
    setHeaders: setHeaders.bind(undefined, reply),
    watch(response: DeniedResponse) {
      watched = watchReply(reply, response);
      return () => {};
    },
    isSent,
  };
  const call = (): unknown => {
    const returned = onDenied(request, reply, verdict.decision);
    // A reply is thenable: if nothing is sent, awaiting it would never end.
    return returned === reply ? undefined : returned;
  };
  const outcome = await handleDenial(denial, call, verdict, warn, request);
  // The application writes to the raw response, and owns it from now on.
  if (outcome.kind === "answered" && !isSent()) reply.hijack();
  if (outcome.kind !== "denied") return outcome.kind === "allowed";
  if (isPayload(outcome.returned)) {
    reply.send(outcome.returned);
  } else {
    for (const name of BODY_HEADERS) reply.removeHeader(name);
    reject(reply, verdict.rejection);
    watched?.close(verdict.rejection.status);
  }
  return false;
}
