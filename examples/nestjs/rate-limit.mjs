// Headgate for NestJS on Express: a guard, a decorator that puts it on a controller, a route or a resolver, one that lifts it, and a
// filter that answers denied requests. rate-limit.ts is the same in TypeScript.

import { clientOf, createHttpGuard, sendRejection, setHeaders } from "@headgate/core/http";
import { Catch, HttpException, mixin, UseGuards } from "@nestjs/common";
import { Reflector } from "@nestjs/core";

/**
 * What is limited: a request of Express, or one field of a GraphQL query, with its arguments.
 *
 * @typedef {import("express").Request & { args?: undefined }} WebRequest
 * @typedef {Pick<import("express").Request, "ip" | "headers" | "socket"> & { args: Record<string, unknown>, path?: undefined, method?: undefined, route?: undefined }} Field
 * @typedef {WebRequest | Field} Limited
 * @typedef {Omit<import("@headgate/core/http").GuardOptions<Limited>, "onDenied">} Options
 * @typedef {[unknown, Record<string, unknown>, { req: import("express").Request }, object]} FieldArguments
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
function isField(host) {
  /** @type {string} */
  const kind = host.getType();
  return kind === "graphql";
}

/**
 * @param {import("@nestjs/common").ExecutionContext} context
 * @returns {Field}
 */
function fieldIn(context) {
  /** @type {FieldArguments} */
  const [, args, { req }, info] = context.getArgs();
  const { ip, headers, socket } = req;
  /** @type {Field} */
  const limited = fields.get(info) ?? { ip, headers, socket, args };
  fields.set(info, limited);
  return limited;
}

/**
 * Lifts the limits around what it stands above: of a route those of its controller and of the application, of a controller those of
 * the application. A `@RateLimit` beside it stays. `@SkipRateLimit(false)` on a route keeps what its controller lifts.
 *
 * @type {(skip?: boolean) => MethodDecorator & ClassDecorator}
 */
export const SkipRateLimit = Reflector.createDecorator({
  transform: (/** @type {boolean | undefined} */ skip) => skip ?? true,
});

const reflector = new Reflector();

/**
 * Where a guard stands.
 *
 * @typedef {"application" | "controller" | "route"} Level
 */

/**
 * @param {import("@nestjs/common").ExecutionContext} context
 * @param {Level} level
 */
function isLifted(context, level) {
  if (level === "route") return false;
  const byRoute = reflector.get(SkipRateLimit, context.getHandler());
  if (level === "controller") return byRoute ?? false;
  return byRoute ?? reflector.get(SkipRateLimit, context.getClass()) ?? false;
}

/**
 * Makes the class of a guard, for `APP_GUARD`. Nest makes the guard when the application starts, and what is wrong with the options
 * is an error then.
 *
 * @param {Options} options
 * @param {Level} [level]
 */
export function rateLimitGuard(options, level = "application") {
  if ("onDenied" in options) {
    throw new TypeError("RateLimit has no onDenied: answer in a filter that catches Rejected");
  }
  class RateLimitGuard {
    guard = createHttpGuard("RateLimit", options);

    /** @param {import("@nestjs/common").ExecutionContext} context */
    async canActivate(context) {
      // A connection of WebSockets is one object for all of its messages, and would be limited once.
      if (!isField(context) && context.getType() !== "http") {
        throw new Error("this guard limits requests of HTTP and fields of GraphQL");
      }
      if (isLifted(context, level)) return true;
      const limited = isField(context) ? fieldIn(context) : context.switchToHttp().getRequest();
      const verdict = await this.guard.check(limited, clientOf(limited.ip, limited));
      if (verdict.kind === "pass") return true;
      if (verdict.kind === "left") return false;
      // One answer holds many fields: what is left of one is in no header.
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

/** What the guard throws, for a filter of your own. */
export class Rejected extends HttpException {
  /** @type {Refusal} */
  verdict;
  /** @type {{ title: string }} */
  problem;

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
    // GraphQL puts the extensions of an error that a resolver returns into its answer.
    const extensions = { ...problem, code: "RATE_LIMITED", retryAfterMs };
    return Object.assign(new Error(problem.title), { extensions });
  }
}
Catch(Rejected)(RejectedFilter);

/**
 * Limits a controller, a route or a resolver.
 *
 * @param {Options} options
 * @returns {MethodDecorator & ClassDecorator}
 */
export function RateLimit(options) {
  /**
   * @param {any} target
   * @param {any} [method]
   * @param {any} [descriptor]
   */
  return (target, method, descriptor) => {
    const guard = rateLimitGuard(options, descriptor === undefined ? "controller" : "route");
    UseGuards(guard)(target, method, descriptor);
  };
}
