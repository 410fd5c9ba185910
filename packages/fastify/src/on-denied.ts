import type { Decision } from "@headgate/core";
import type { Verdict, Warn } from "@headgate/core/http";
import {
  BODY_HEADERS,
  createLateWarning,
  DENIAL_HEADERS,
  DeniedResponse,
  mirrorHeaders,
  runOnDenied,
} from "@headgate/core/internal-http";
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
export async function handleDenial(
  onDenied: OnDenied,
  request: FastifyRequest,
  reply: FastifyReply,
  { decision, headers, rejection, recordOutcome }: Verdict & { readonly kind: "denied" },
  warn: Warn,
): Promise<boolean> {
  const before = DENIAL_HEADERS.map((name) => [name, reply.getHeader(name) as string] as const);
  setHeaders(reply, headers);
  // Not with code(): a redirect without its own status would use it as the application's choice.
  reply.raw.statusCode = rejection.status;
  const mirrored = mirrorHeaders(reply, headers);
  const onLate = createLateWarning(warn, request);
  const response = new DeniedResponse(reply.raw, onLate, () => recordOutcome?.(false));
  const watched = watchReply(reply, response);
  let result: unknown;
  try {
    result = await runOnDenied(response, () => {
      const returned = onDenied(request, reply, decision);
      // A reply is thenable: if nothing is sent, awaiting it would never end.
      return returned === reply ? undefined : returned;
    });
  } catch (error) {
    // A bug in onDenied is an error of status 500. The headers stay: they still say how long to wait.
    reply.raw.statusCode = 200;
    mirrored.copyBack();
    throw error;
  }
  if (watched.hasSent || reply.sent) return false;
  if (response.hasBegun) {
    // The application writes to the raw response, and owns it from now on.
    reply.hijack();
    return false;
  }
  if (response.isAllowedBy(result)) {
    reply.raw.statusCode = 200;
    setHeaders(reply, before);
    mirrored.restore();
    return true;
  }
  if (isPayload(result)) {
    reply.send(result);
  } else {
    for (const name of BODY_HEADERS) reply.removeHeader(name);
    reject(reply, rejection);
    watched.close(rejection.status);
  }
  return false;
}
