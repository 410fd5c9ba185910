import type { Decision } from "@headgate/core";
import type { Verdict, Warn } from "@headgate/core/http";
import {
  BODY_HEADERS,
  createLateWarning,
  DENIAL_HEADERS,
  DeniedResponse,
  runOnDenied,
  toError,
} from "@headgate/core/internal-http";
import type { ExecutionContext } from "@nestjs/common";
import type { LimitedContext } from "./limited-context.ts";
import type { Reply } from "./reply.ts";
import { nodeOf, setDenialHeaders, setReplyHeaders } from "./reply.ts";

/**
 * Handles a denial, after status, headers and `Retry-After` were set: throws an exception of yours, or responds on the
 * platform's response. If it does neither until it settles, Headgate responds, unless it returns or resolves `"allow"`: then the
 * request continues, and costs nothing.
 */
export type OnDenied = (context: ExecutionContext, decision: Decision) => unknown;

/** How a denial ended: `onDenied` allowed it, something has responded, or Headgate must respond. */
export type DenialOutcome = "allowed" | "answered" | "denied";

type Denied = Verdict & { readonly kind: "denied" };

/** Calls `onDenied`. Rejects with the error for the exception filters. */
export async function callOnDenied(
  onDenied: OnDenied,
  context: ExecutionContext,
  { reply }: LimitedContext,
  verdict: Denied,
  warn: Warn,
): Promise<DenialOutcome> {
  const { decision, recordOutcome } = verdict;
  if (reply !== undefined)
    return callWithReply(reply, () => onDenied(context, decision), verdict, context, warn);
  try {
    const isAllowed = (await onDenied(context, decision)) === "allow";
    recordOutcome?.(isAllowed);
    return isAllowed ? "allowed" : "denied";
  } catch (error) {
    recordOutcome?.(false);
    throw toError(error);
  }
}

async function callWithReply(
  reply: Reply,
  onDenied: () => unknown,
  { headers, rejection, recordOutcome }: Denied,
  context: ExecutionContext,
  warn: Warn,
): Promise<DenialOutcome> {
  const before = DENIAL_HEADERS.map((name) => [name, reply.getHeader(name) as string] as const);
  const node = nodeOf(reply);
  const mirrored = setDenialHeaders(reply, headers);
  node.statusCode = rejection.status;
  const onLate = createLateWarning(warn, context);
  const response = new DeniedResponse(node as never, onLate, () => recordOutcome?.(false));
  const restore = watchSend(reply, response);
  try {
    const result = await runOnDenied(response, onDenied);
    if (response.hasBegun) {
      recordOutcome?.(false);
      return "answered";
    }
    if (response.isAllowedBy(result)) {
      node.statusCode = 200;
      setReplyHeaders(reply, before);
      mirrored?.restore();
      recordOutcome?.(true);
      return "allowed";
    }
    for (const name of BODY_HEADERS) reply.removeHeader(name);
    recordOutcome?.(false);
    return "denied";
  } catch (error) {
    // A bug in onDenied is an error of status 500. The headers stay: they still say how long to wait.
    node.statusCode = 200;
    mirrored?.copyBack();
    recordOutcome?.(false);
    throw toError(error);
  } finally {
    restore();
  }
}

/** Tracks calls of Fastify's `send`, which responds later. */
function watchSend(reply: Reply, response: DeniedResponse): () => void {
  const { send } = reply;
  if (reply.raw === undefined || send === undefined) return () => {};
  reply.send = (payload) => response.begin(() => send.call(reply, payload));
  return () => {
    reply.send = send;
  };
}
