import type { HeadgateError, Limiter } from "@headgate/core";
import type { HttpGuard, Verdict, Warn } from "@headgate/core/http";
import * as http from "@headgate/core/http";
import { clientOf, HeadgateDeniedError, sendRejection, setHeaders } from "@headgate/core/http";
import type {
  CheckedGuardTimes,
  PolicyFunctions,
  SingleLimiterOptions,
  TieredLimiterOptions,
} from "@headgate/core/internal-http";
import {
  applyVerdict,
  createAdapterGuard,
  invalidOption,
  warnOnce,
} from "@headgate/core/internal-http";
import type { Request, Response } from "express";
import { detectPerRequestLimiter } from "./limiter-per-request.ts";
import type { OnDenied } from "./on-denied.ts";
import { respondToDenial } from "./on-denied.ts";
import { decoratedPrototypes, decorateRequest } from "./request-decoration.ts";

/** Options of `rateLimit`. A function `count` gets `(req, res)`. */
export type RateLimitOptions<Dimension extends string = string> = SingleLimiterOptions<
  Request,
  Dimension,
  Response,
  OnDenied | "error"
>;

/** Options of `rateLimit` with limits that depend on the tier of a request. */
export type TieredRateLimitOptions<Dimension extends string = string> = TieredLimiterOptions<
  Request,
  Dimension,
  Response,
  OnDenied | "error"
>;

/** Express middleware that limits requests. Its types are structural, so that `req.params` keeps its type in later handlers. */
export interface RateLimit
  extends Pick<HttpGuard<object>, "decisionOf" | "resetClient" | "ready" | "close"> {
  (req: RequestLike, res: ResponseLike, next: Next): void;
  /** The limiter, for `reset`, `charge`, `peek`. */
  readonly limiter: Limiter;
}

/** Middleware whose limits depend on the tier of a request. */
export interface TieredRateLimit extends Omit<RateLimit, "limiter"> {
  (req: RequestLike, res: ResponseLike, next: Next): void;
  /** The limiter of each tier. */
  readonly tiers: ReadonlyMap<string, Limiter>;
}

const OWNER = "rateLimit";

/**
 * Creates middleware that limits its requests: `app.use(rateLimit({ limits: gcra({ limit: 100, window: "1m" }) }))`.
 * Throws `HEADGATE_INVALID_OPTION`, `HEADGATE_INVALID_LIMIT`, `HEADGATE_DUPLICATE_NAME`.
 */
export function rateLimit<
  const Dimension extends string = never,
  const Text extends string = string,
>(options: TieredRateLimitOptions<Dimension> & CheckedGuardTimes<Text>): TieredRateLimit;
export function rateLimit<
  const Dimension extends string = never,
  const Text extends string = string,
>(options: RateLimitOptions<Dimension> & CheckedGuardTimes<Text>): RateLimit;
export function rateLimit(
  options: RateLimitOptions<string> | TieredRateLimitOptions<string>,
): RateLimit | TieredRateLimit {
  const adapter = { name: "express", warn, routeOf, callsOnDenied: true, passesResponse: true };
  const guard = createAdapterGuard<Request>(OWNER, options, adapter);
  const { check, limiter: only, tiers, decisionOf, resetClient, ready, close } = guard;
  const { onDenied, store, limiter } = options;
  const detector =
    store === undefined && limiter === undefined ? detectPerRequestLimiter(warn) : undefined;

  function middleware(req: RequestLike, res: ResponseLike, next: Next): void {
    if (typeof next !== "function") throw missingNextError(next);
    const request = req as Request;
    if (detector?.isNew) detector.note(request);
    // On a request of Express, `request.ip` would take longer: V8's caches do not know its hidden class.
    const address: string | undefined = Reflect.get(request, "ip");
    const decided = check(request, clientOf(address, request), res);
    applyVerdict(
      decided,
      "then" in decided ? respondLater : respond,
      request,
      res as Response,
      next,
    );
  }

  /** Applies a verdict to the response, and returns whether the request continues. Throws or rejects with an error for the error handler. */
  function respond(verdict: Verdict, req: Request, res: Response): boolean | Promise<boolean> {
    if (verdict.kind === "disconnected") return false;
    if (verdict.kind === "pass") return !res.writableEnded;
    if (verdict.kind !== "allowed" && res.headersSent) return endResponse(res);
    const owner = decoratedPrototypes.get(Object.getPrototypeOf(req));
    const isShown =
      owner !== undefined &&
      Object.prototype.isPrototypeOf.call(owner, req) &&
      !Object.hasOwn(req, "rateLimit");
    if (verdict.kind !== "refused" && !isShown && !decorateRequest(req))
      req.rateLimit = verdict.decision;
    if (verdict.kind === "denied" && typeof onDenied === "function") {
      return respondToDenial(onDenied, req, res, verdict, warn);
    }
    try {
      setHeaders(res, verdict.headers);
    } catch (error) {
      // Checked only now, because the check takes as long as setting a header.
      if (verdict.kind !== "allowed" || !res.headersSent) throw error;
      return !res.writableEnded;
    }
    if (verdict.kind === "allowed") return verdict.headers.length > 0 || !res.writableEnded;
    res.statusCode = verdict.rejection.status;
    if (verdict.kind === "denied" && onDenied === "error") {
      throw new HeadgateDeniedError(verdict.decision);
    }
    sendRejection(res, verdict.rejection);
    return false;
  }

  /** Something else may have responded meanwhile, for example on a timeout. */
  function respondLater(verdict: Verdict, req: Request, res: Response): boolean | Promise<boolean> {
    return res.writableEnded ? false : respond(verdict, req, res);
  }

  const handle = only === undefined ? { tiers } : { limiter: only };
  return Object.assign(middleware, handle, { decisionOf, resetClient, ready, close }) as
    | RateLimit
    | TieredRateLimit;
}

/**
 * The method and the route of a request as the application wrote it, such as `GET /users/:id`; undefined in middleware
 * outside a route. Express does not keep the pattern that a router was mounted at: if that has parameters, the path is as
 * requested.
 */
function routeOf({ method, baseUrl, route }: Request): string | undefined {
  return route === undefined ? undefined : `${method} ${baseUrl}${route.path}`;
}

/** Ends a response that something else has begun: it is too late for headers. */
function endResponse(res: Response): boolean {
  if (!res.writableEnded) res.end();
  return false;
}

/** Without `next`, the request can neither continue nor fail. */
function missingNextError(received: unknown): HeadgateError {
  return invalidOption(
    `${OWNER}: the middleware must be called as (req, res, next), got ${typeof received} for next; mount it with app.use or on a route, or call limiter.consume(subject) yourself`,
  );
}

function warn(...[code, message, request, error]: Parameters<Warn>): void {
  // A router may serve requests without an application around it.
  const { app = process } = request as Partial<Request>;
  warnOnce(app, code, message, error);
}

/*
 * The members of Express's request and response that the middleware's own type names. Its full types would carry
 * `req.params` of no particular route, and spoil those of the handlers after it.
 */
interface RequestLike {
  readonly ip?: string | undefined;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly socket: object;
}

interface ResponseLike {
  setHeader(name: string, value: string): unknown;
  end(body: string): unknown;
}

type Next = (error?: unknown) => void;

type Functions = PolicyFunctions<Request>;

/** Counts by several keys together: `combineKeys(byIp(), (req) => req.body.email)`. */
export const combineKeys: Functions["combineKeys"] = http.combineKeys;

/** Chooses the limits by a request's tier: `byTier({ free: ..., premium: ... }, (req) => req.user.plan)`. */
export const byTier: Functions["byTier"] = http.byTier;

/** Takes limits from the request: `perRequest(gcra({ limit: 30, window: "1m" }), (req) => req.customer.limits)`. */
export const perRequest: Functions["perRequest"] = http.perRequest;
