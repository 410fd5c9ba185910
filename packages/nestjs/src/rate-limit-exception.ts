import type { Decision } from "@headgate/core";
import type { Rejection, Verdict } from "@headgate/core/http";
import type { ArgumentsHost, ExceptionFilter } from "@nestjs/common";
import { Catch, HttpException } from "@nestjs/common";
import { kindOf } from "./limited-context.ts";
import type { Reply } from "./reply.ts";
import { reject } from "./reply.ts";

type Refusal = Verdict & { readonly kind: "denied" | "refused" };

/**
 * The error of a request that does not continue: it was denied (429 or 503), lacks its key (400), or its client is on
 * `denyList` (403). A filter of your own may catch it; headers are already set.
 */
export class RateLimitException extends HttpException {
  /** The decision that denied; undefined for a request refused without one. */
  readonly decision: Decision | undefined;
  /** Headgate's own response. */
  readonly rejection: Rejection;

  constructor(verdict: Refusal) {
    super(JSON.parse(verdict.rejection.body), verdict.rejection.status);
    this.decision = verdict.kind === "denied" ? verdict.decision : undefined;
    this.rejection = verdict.rejection;
  }

  /** The error as clients of GraphQL and of WebSockets get it. */
  toJSON(): object {
    const { retryAfterMs } = this.decision ?? {};
    return { ...(this.getResponse() as object), code: "RATE_LIMITED", retryAfterMs };
  }
}

/** Responds to denied and refused requests. `HeadgateModule` registers it. */
export class RateLimitFilter implements ExceptionFilter<RateLimitException> {
  catch(exception: RateLimitException, host: ArgumentsHost): unknown {
    if (kindOf(host) === "graphql") {
      // GraphQL puts the extensions of an error that a resolver returns into its response.
      const { title } = exception.getResponse() as { readonly title: string };
      return Object.assign(new Error(title), { extensions: exception.toJSON() });
    }
    reject(host.switchToHttp().getResponse<Reply>(), exception.rejection);
    return undefined;
  }
}
Catch(RateLimitException)(RateLimitFilter);

/** The exception for a context: gateways need the one of their own package, which is installed with them. */
export async function exceptionFor(host: ArgumentsHost, verdict: Refusal): Promise<Error> {
  const exception = new RateLimitException(verdict);
  if (kindOf(host) !== "ws") return exception;
  const { WsException } = await import("@nestjs/websockets");
  return new WsException(exception.toJSON());
}
