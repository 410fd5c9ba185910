// Headgate for NestJS on Express: a guard, a decorator that puts it on a controller, a route or a resolver, and a filter that answers the
// requests that the guard denies.

import { clientOf, createHttpGuard, sendRejection, setHeaders } from "@headgate/core/http";
import { Catch, HttpException, mixin, UseGuards } from "@nestjs/common";
import { GqlExecutionContext } from "@nestjs/graphql";
import { GraphQLError } from "graphql";

/**
 * What is limited: a request of Express, or one field of a GraphQL query, with its arguments.
 *
 * @typedef {import("express").Request & { args?: undefined }} WebRequest
 * @typedef {Pick<import("express").Request, "ip" | "headers" | "socket"> & { args: Record<string, unknown>, path?: undefined }} Field
 * @typedef {import("@headgate/core/http").GuardOptions<WebRequest | Field>} Options
 */

/**
 * Each field that a query asks for is limited by itself: `{ a: login(...) b: login(...) }` are two attempts in one request. All
 * limiters on the way of a field share one object for it.
 *
 * @type {WeakMap<object, Field>}
 */
const fields = new WeakMap();

/**
 * Whether it is a field of a query that is limited.
 *
 * @param {import("@nestjs/common").ArgumentsHost} host
 */
const isField = (host) => host.getType() === /** @type {string} */ ("graphql");

/** @param {import("@nestjs/common").ExecutionContext} context */
function fieldIn(context) {
  const field = GqlExecutionContext.create(context);
  const { ip, headers, socket } = field.getContext().req;
  const limited = fields.get(field.getInfo()) ?? { ip, headers, socket, args: field.getArgs() };
  fields.set(field.getInfo(), limited);
  return limited;
}

/**
 * Creates the class of a guard, for `UseGuards` and `APP_GUARD`. Nest creates the guard when the application starts, so mistakes
 * in the options are errors then.
 *
 * @param {Options} options
 */
export function rateLimitGuard(options) {
  class RateLimitGuard {
    guard = createHttpGuard("RateLimit", options);

    /** @param {import("@nestjs/common").ExecutionContext} context */
    async canActivate(context) {
      // A connection of WebSockets is one object for all of its messages, and would be limited once.
      if (!isField(context) && context.getType() !== "http") {
        throw new Error("this guard limits requests of HTTP and fields of GraphQL");
      }
      const limited = isField(context) ? fieldIn(context) : context.switchToHttp().getRequest();
      const verdict = await this.guard.check(limited, clientOf(limited.ip, limited));
      if (verdict.kind === "pass") return true;
      if (verdict.kind === "left") return false;
      // One answer holds many fields, so no header shows what is left of one.
      if (!isField(context)) {
        const response = context.switchToHttp().getResponse();
        if (response.headersSent) return false;
        setHeaders(response, verdict.headers);
      }
      if (verdict.kind === "allowed") return true;
      throw new Rejected(verdict);
    }

    onModuleDestroy() {
      return this.guard.close();
    }
  }
  return mixin(RateLimitGuard);
}

/** @typedef {import("@headgate/core/http").Verdict & { kind: "denied" | "refused" }} Refusal */

class Rejected extends HttpException {
  /** @param {Refusal} verdict */
  constructor(verdict) {
    const problem = JSON.parse(verdict.rejection.body);
    super(problem, verdict.rejection.status);
    this.verdict = verdict;
    this.problem = problem;
  }
}

/** Answers what the guard denies, for `APP_FILTER`. Without it Nest would say the same as plain JSON. */
export class RejectedFilter {
  /**
   * @param {Rejected} rejected
   * @param {import("@nestjs/common").ArgumentsHost} host
   */
  catch({ verdict, problem }, host) {
    if (!isField(host)) return sendRejection(host.switchToHttp().getResponse(), verdict.rejection);
    const retryAfterMs = verdict.kind === "denied" ? verdict.decision.retryAfterMs : undefined;
    const extensions = { ...problem, code: "RATE_LIMITED", retryAfterMs };
    return new GraphQLError(problem.title, { extensions });
  }
}
Catch(Rejected)(RejectedFilter);

/**
 * Limits a controller, a route or a resolver.
 *
 * @param {Options} options
 */
export const RateLimit = (options) => UseGuards(rateLimitGuard(options));
