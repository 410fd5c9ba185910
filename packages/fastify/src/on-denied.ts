import type { Decision } from "@headgate/core";
import type { Verdict, Warn } from "@headgate/core/http";
import { BODY_HEADERS, DeniedResponse, letAnswer } from "@headgate/core/http";
import type { FastifyReply, FastifyRequest } from "fastify";
import { isPayload } from "./payload.ts";
import { reject } from "./reject.ts";
import { watchReply } from "./watched-reply.ts";

/** Runs for a denied request, with status, headers and `Retry-After` already set. Headgate answers if it has not when it settles. */
export type OnDenied = (
  request: FastifyRequest,
  reply: FastifyReply,
  decision: Decision,
) => unknown;

/** Lets `onDenied` answer a denied request, and answers if it did not. Rejects with what goes to the error handler. */
export async function answerDenied(
  onDenied: OnDenied,
  request: FastifyRequest,
  reply: FastifyReply,
  { decision, headers, rejection }: Verdict & { readonly kind: "denied" },
  warn: Warn,
): Promise<void> {
  // Whoever writes to the raw response finds them there too.
  for (const [name, value] of headers) if (value !== undefined) reply.raw.setHeader(name, value);
  const response = new DeniedResponse(reply.raw, (error) =>
    warn(
      "HEADGATE_LATE_ANSWER",
      "onDenied, or what it called, answered or threw after the denied request had been answered; what came late was dropped. Answer before onDenied returns, or before its promise settles",
      request,
      error,
    ),
  );
  const watched = watchReply(reply, response);
  let result: unknown;
  try {
    result = await letAnswer(response, () => {
      const returned = onDenied(request, reply, decision);
      // A reply is thenable: it would be waited for without end where nothing is sent.
      return returned === reply ? undefined : returned;
    });
  } catch (error) {
    // A bug in it must not look like a denial.
    reply.raw.statusCode = 200;
    reply.removeHeader("Retry-After");
    // Fastify before 5.12 leaves it on the raw response.
    reply.raw.removeHeader("Retry-After");
    throw error;
  }
  if (watched.hasSent || reply.sent) return;
  if (response.isUnderWay) {
    // Somebody writes to the raw response, which is theirs from now on.
    reply.hijack();
  } else if (isPayload(result)) {
    reply.send(result);
  } else {
    for (const name of BODY_HEADERS) reply.removeHeader(name);
    reject(reply, rejection);
    watched.close(rejection.status);
  }
}
