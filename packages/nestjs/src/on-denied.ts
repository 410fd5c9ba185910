import type { Decision } from "@headgate/core";
import type { Verdict, Warn } from "@headgate/core/http";
import {
  BODY_HEADERS,
  DENIAL_HEADERS,
  DeniedResponse,
  lateAnswerWarner,
  letAnswer,
  toError,
} from "@headgate/core/internal-http";
import type { ExecutionContext } from "@nestjs/common";
import type { Limited } from "./limited.ts";
import type { Reply } from "./reply.ts";
import { nodeOf, setDenialHeaders, setReplyHeaders } from "./reply.ts";

/**
 * Answers what is denied, when status, headers and `Retry-After` are already set: throws an exception of yours, or answers
 * on the platform's response. If it does neither until it settles, Headgate answers, unless it returns or resolves `"allow"`:
 * then the request goes on, and costs nothing.
 */
export type OnDenied = (context: ExecutionContext, decision: Decision) => unknown;

/** How a denial ended: it is let on, something has answered it, or Headgate is to answer. */
export type Outcome = "allowed" | "answered" | "denied";

type Denied = Verdict & { readonly kind: "denied" };

/** Lets `onDenied` have its way. Rejects with what goes to the exception filters. */
export async function callOnDenied(
  onDenied: OnDenied,
  context: ExecutionContext,
  { reply }: Limited,
  verdict: Denied,
  warn: Warn,
): Promise<Outcome> {
  const { decision, conclude } = verdict;
  if (reply !== undefined)
    return answerOn(reply, () => onDenied(context, decision), verdict, context, warn);
  try {
    const isAllowed = (await onDenied(context, decision)) === "allow";
    conclude?.(isAllowed);
    return isAllowed ? "allowed" : "denied";
  } catch (error) {
    conclude?.(false);
    throw toError(error);
  }
}

async function answerOn(
  reply: Reply,
  onDenied: () => unknown,
  { headers, rejection, conclude }: Denied,
  context: ExecutionContext,
  warn: Warn,
): Promise<Outcome> {
  const before = DENIAL_HEADERS.map((name) => [name, reply.getHeader(name) as string] as const);
  const node = nodeOf(reply);
  const shown = setDenialHeaders(reply, headers);
  node.statusCode = rejection.status;
  const onLate = lateAnswerWarner(warn, context);
  const response = new DeniedResponse(node as never, onLate, () => conclude?.(false));
  const restore = watchSend(reply, response);
  try {
    const result = await letAnswer(response, onDenied);
    if (response.isUnderWay) {
      conclude?.(false);
      return "answered";
    }
    if (response.isLetOnBy(result)) {
      node.statusCode = 200;
      setReplyHeaders(reply, before);
      shown?.hide();
      conclude?.(true);
      return "allowed";
    }
    for (const name of BODY_HEADERS) reply.removeHeader(name);
    conclude?.(false);
    return "denied";
  } catch (error) {
    // A bug in onDenied is an error of status 500. The headers stay: they still say how long to wait.
    node.statusCode = 200;
    shown?.takeOver();
    conclude?.(false);
    throw toError(error);
  } finally {
    restore();
  }
}

/** Fastify answers later than its `send` is called. */
function watchSend(reply: Reply, response: DeniedResponse): () => void {
  const { send } = reply;
  if (reply.raw === undefined || send === undefined) return () => {};
  reply.send = (payload) => response.begin(() => send.call(reply, payload));
  return () => {
    reply.send = send;
  };
}
