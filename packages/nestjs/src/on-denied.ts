import type { Decision } from "@headgate/core";
import type { Verdict, Warn } from "@headgate/core/http";
import type {
  DenialOutcome,
  DenialReply,
  DeniedResponse,
  ReplyWithRaw,
} from "@headgate/core/internal-http";
import { BODY_HEADERS, handleDenial, toError } from "@headgate/core/internal-http";
import type { ExecutionContext } from "@nestjs/common";
import type { LimitedContext } from "./limited-context.ts";
import type { Reply } from "./reply.ts";
import { nodeOf, setReplyHeaders } from "./reply.ts";

/**
 * Handles a denial, after status, headers and `Retry-After` were set: throws an exception of yours, or responds on the
 * platform's response. If it does neither until it settles, Headgate responds, unless it returns or resolves `"allow"`: then the
 * request continues, and costs nothing.
 */
export type OnDenied = (context: ExecutionContext, decision: Decision) => unknown;

/** Calls `onDenied`. Rejects with the error for the exception filters. */
export async function callOnDenied(
  onDenied: OnDenied,
  context: ExecutionContext,
  { reply }: LimitedContext,
  verdict: Verdict & { readonly kind: "denied" },
  warn: Warn,
): Promise<DenialOutcome["kind"]> {
  const { decision, recordOutcome } = verdict;
  if (reply !== undefined) {
    const denial = denialOf(reply);
    const call = () => onDenied(context, decision);
    const { send } = reply;
    const { kind } = await handleDenial(denial, call, verdict, warn, context).finally(() => {
      // The exception filters send the response to a denial.
      if (send !== undefined) reply.send = send;
    });
    if (kind === "denied") for (const name of BODY_HEADERS) reply.removeHeader(name);
    return kind;
  }
  try {
    const isAllowed = (await onDenied(context, decision)) === "allow";
    recordOutcome?.(isAllowed);
    return isAllowed ? "allowed" : "denied";
  } catch (error) {
    recordOutcome?.(false);
    throw toError(error);
  }
}

function denialOf(reply: Reply): DenialReply {
  return {
    node: nodeOf(reply) as never,
    withRaw: reply.raw === undefined ? undefined : (reply as ReplyWithRaw),
    getHeader: (name) => reply.getHeader(name),
    setHeaders: setReplyHeaders.bind(undefined, reply),
    watch: (response) => watchSend(reply, response),
  };
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
