// Headgate for NestJS on Express: a guard, a decorator that puts it on a controller, a route or a resolver, one that lifts it, and a
// filter that answers denied requests. Copy this file into your sources. In a project without TypeScript take rate-limit.mjs, which
// is the same.

import type { GuardOptions, HttpGuard, Verdict } from "@headgate/core/http";
import { clientOf, createHttpGuard, sendRejection, setHeaders } from "@headgate/core/http";
import type { ArgumentsHost, CanActivate, ExecutionContext, Type } from "@nestjs/common";
import { Catch, HttpException, mixin, UseGuards } from "@nestjs/common";
import type { ReflectableDecorator } from "@nestjs/core";
import { Reflector } from "@nestjs/core";
import type { Request } from "express";

type WebRequest = Request & { args?: undefined };

/** One field of a GraphQL query, with its arguments. */
type Field = Pick<Request, "ip" | "headers" | "socket"> & {
  args: Record<string, unknown>;
  path?: undefined;
  method?: undefined;
  route?: undefined;
};

/** What is limited: a request of Express, or one field of a GraphQL query. */
export type Limited = WebRequest | Field;

/** Options of the guard. Denied requests are answered by a filter. */
export type Options = Omit<GuardOptions<Limited>, "onDenied">;

/** What a resolver of GraphQL gets: the parent, the arguments, the context, and what the query is about. */
type FieldArguments = [unknown, Record<string, unknown>, { req: Request }, object];

/**
 * Each field that a query asks for is limited by itself: `{ a: login(...) b: login(...) }` are two attempts in one request. All
 * limiters on the way of a field share one object for it.
 */
const fields: WeakMap<object, Field> = new WeakMap();

/** Whether it is a field of a query that is limited. */
function isField(host: ArgumentsHost): boolean {
  const kind: string = host.getType();
  return kind === "graphql";
}

function fieldIn(context: ExecutionContext): Field {
  const [, args, { req }, info]: FieldArguments = context.getArgs();
  const { ip, headers, socket } = req;
  const limited: Field = fields.get(info) ?? { ip, headers, socket, args };
  fields.set(info, limited);
  return limited;
}

/**
 * Lifts the limits around what it stands above: of a route those of its controller and of the application, of a controller those of
 * the application. A `@RateLimit` beside it stays. `@SkipRateLimit(false)` on a route keeps what its controller lifts.
 */
export const SkipRateLimit: ReflectableDecorator<boolean | undefined, boolean> =
  Reflector.createDecorator<boolean | undefined, boolean>({
    transform: (skip) => skip ?? true,
  });

const reflector = new Reflector();

/** Where a guard stands. */
type Level = "application" | "controller" | "route";

function isLifted(context: ExecutionContext, level: Level): boolean {
  if (level === "route") return false;
  const byRoute = reflector.get(SkipRateLimit, context.getHandler());
  if (level === "controller") return byRoute ?? false;
  return byRoute ?? reflector.get(SkipRateLimit, context.getClass()) ?? false;
}

/**
 * Makes the class of a guard, for `APP_GUARD`. Nest makes the guard when the application starts, and what is wrong with the options
 * is an error then.
 */
export function rateLimitGuard(options: Options, level: Level = "application"): Type<CanActivate> {
  if ("onDenied" in options) {
    throw new TypeError("RateLimit has no onDenied: answer in a filter that catches Rejected");
  }
  class RateLimitGuard {
    guard: HttpGuard<Limited> = createHttpGuard<Limited>("RateLimit", options);

    async canActivate(context: ExecutionContext): Promise<boolean> {
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

    onModuleDestroy(): Promise<void> {
      return this.guard.close();
    }
  }
  return mixin(RateLimitGuard);
}

type Refusal = Verdict & { kind: "denied" | "refused" };

/** What the guard throws, for a filter of your own. */
export class Rejected extends HttpException {
  verdict: Refusal;
  problem: { title: string };

  constructor(verdict: Refusal) {
    const problem = JSON.parse(verdict.rejection.body);
    super(problem, verdict.rejection.status);
    this.verdict = verdict;
    this.problem = problem;
  }
}

/** Answers what the guard denies, for `APP_FILTER`. Without it Nest would say the same as plain JSON. */
export class RejectedFilter {
  catch({ verdict, problem }: Rejected, host: ArgumentsHost): unknown {
    if (!isField(host)) return sendRejection(host.switchToHttp().getResponse(), verdict.rejection);
    const retryAfterMs = verdict.kind === "denied" ? verdict.decision.retryAfterMs : undefined;
    // GraphQL puts the extensions of an error that a resolver returns into its answer.
    const extensions = { ...problem, code: "RATE_LIMITED", retryAfterMs };
    return Object.assign(new Error(problem.title), { extensions });
  }
}
Catch(Rejected)(RejectedFilter);

/** Limits a controller, a route or a resolver. */
export function RateLimit(options: Options): MethodDecorator & ClassDecorator {
  // biome-ignore lint/suspicious/noExplicitAny: a class, or a method of any type.
  return (target: any, method?: any, descriptor?: TypedPropertyDescriptor<any>) => {
    const guard = rateLimitGuard(options, descriptor === undefined ? "controller" : "route");
    UseGuards(guard)(target, method, descriptor as never);
  };
}
