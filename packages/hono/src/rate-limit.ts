import type { Decision, Limiter } from "@headgate/core";
import type { HttpGuard, Verdict, Warn } from "@headgate/core/http";
import * as http from "@headgate/core/http";
import type {
  CheckedGuardTimes,
  EndedResponse,
  PolicyFunctions,
  SingleLimiterOptions,
  TieredLimiterOptions,
} from "@headgate/core/internal-http";
import {
  createAdapterGuard,
  invalidValue,
  isRequestPolicy,
  unwrapRequest,
  warnOnce,
  withErrors,
} from "@headgate/core/internal-http";
import type { Context, MiddlewareHandler, Next } from "hono";
import type { GetConnInfo } from "hono/conninfo";
import { matchedRoutes } from "hono/route";
import type { HonoRequest } from "./connection.ts";
import { readConnection, serverOf } from "./connection.ts";
import type { OnDenied } from "./on-denied.ts";
import {
  completeHeaders,
  deniedError,
  prepareHeaders,
  reject,
  respondToDenial,
  setHeaders,
} from "./on-denied.ts";

interface ConnectionOption {
  /**
   * Reads the address of the connection, as `getConnInfo` of a platform does. By default that of @hono/node-server,
   * `Bun.serve` and `Deno.serve`.
   */
  readonly getConnInfo?: GetConnInfo | undefined;
}

/** Options of `rateLimit`. A function `count` gets `(c, { statusCode })`; `onDenied: "error"` throws to the application's `onError`. */
export type RateLimitOptions<Dimension extends string = string> = ConnectionOption &
  SingleLimiterOptions<Context, Dimension, EndedResponse, OnDenied | "error">;

/** Options of `rateLimit` with limits that depend on the tier of a request. */
export type TieredRateLimitOptions<Dimension extends string = string> = ConnectionOption &
  TieredLimiterOptions<Context, Dimension, EndedResponse, OnDenied | "error">;

/** Hono middleware that limits requests. */
export interface RateLimit
  extends MiddlewareHandler,
    Pick<HttpGuard<object>, "decisionOf" | "resetClient" | "ready" | "close"> {
  /** The limiter, for `reset`, `charge`, `peek`. */
  readonly limiter: Limiter;
}

/** Middleware whose limits depend on the tier of a request. */
export interface TieredRateLimit extends MiddlewareHandler, Omit<RateLimit, "limiter"> {
  /** The limiter of each tier. */
  readonly tiers: ReadonlyMap<string, Limiter>;
}

const OWNER = "rateLimit";

const ADAPTER = { name: "hono", warn, routeOf, callsOnDenied: true, passesResponse: true } as const;

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
  const guard = createAdapterGuard<HonoRequest>(OWNER, options, ADAPTER, {
    optionNames: ["getConnInfo"],
    unwrapRequest,
  });
  const {
    check,
    needsResponse,
    limiter: only,
    tiers,
    decisionOf,
    resetClient,
    ready,
    close,
  } = guard;
  const { onDenied, getConnInfo } = options;
  requireGetConnInfo(getConnInfo);
  // The limits of a request may count slots even if the base does not.
  const needsEnd =
    needsResponse || typeof onDenied === "function" || isRequestPolicy(options.limits);

  async function middleware(c: Context, next: Next): Promise<Response | undefined> {
    const { client, response, created } = readConnection(c, needsEnd, getConnInfo);
    try {
      const decided = check(c as HonoRequest, client, response);
      // A promise more would cost a request in memory as much as its decision.
      const verdict = "then" in decided ? await withErrors(() => decided) : decided;
      // Something else may have responded meanwhile, for example on a timeout.
      if (verdict.kind === "disconnected" || c.finalized || response?.headersSent)
        return c.body(null);
      const responded = respond(c, verdict, response);
      const answer = responded === undefined ? undefined : await responded;
      if (answer !== undefined) return answer;
      if (created === undefined) await next();
      else await created.run(next);
      if (verdict.kind === "allowed") completeHeaders(c);
      return undefined;
    } finally {
      created?.markReturned();
    }
  }

  /** Returns the response to a request that does not continue. */
  function respond(
    c: Context,
    verdict: Verdict,
    response: object | undefined,
  ): Promise<Response | undefined> | Response | undefined {
    if (verdict.kind === "pass" || verdict.kind === "disconnected") return undefined;
    if (verdict.kind !== "refused") c.set("rateLimit", verdict.decision);
    if (verdict.kind === "denied" && typeof onDenied === "function") {
      return respondToDenial(onDenied, c, response as object, verdict);
    }
    if (verdict.kind === "denied" && onDenied === "error") {
      setHeaders(c, verdict.headers);
      throw deniedError(c, verdict);
    }
    prepareHeaders(c, verdict.headers);
    if (verdict.kind === "allowed") return undefined;
    return reject(c, verdict.rejection);
  }

  const handle = only === undefined ? { tiers } : { limiter: only };
  return Object.assign(middleware, handle, { decisionOf, resetClient, ready, close }) as
    | RateLimit
    | TieredRateLimit;
}

/** The method and the route of a request as the application wrote it, such as `GET /users/:id`; undefined if it meets only middleware. */
function routeOf(c: Context): string | undefined {
  const { method, path = "" } = matchedRoutes(c).at(-1) ?? {};
  return method === "ALL" && path.endsWith("*") ? undefined : `${c.req.method} ${path}`;
}

/** Warns each code once for a server, or for the process if the server is unknown. */
function warn(...[code, message, request, error]: Parameters<Warn>): void {
  warnOnce(serverOf(request as Context) ?? process, code, message, error);
}

function requireGetConnInfo(getConnInfo: unknown): void {
  if (getConnInfo === undefined || typeof getConnInfo === "function") return;
  throw invalidValue(
    `${OWNER}: getConnInfo must be a function like getConnInfo of a platform`,
    getConnInfo,
  );
}

declare module "hono" {
  interface ContextVariableMap {
    /** The binding decision among all those on this request so far. */
    rateLimit?: Decision;
  }
}

type Functions = PolicyFunctions<Context>;

/** Counts by client address, as the server gives it. */
export const byIp: Functions["byIp"] = http.byIp as never;

/** Counts by the hashed value of a request header. */
export const byHeader: Functions["byHeader"] = http.byHeader as never;

/** Counts by several keys together: `combineKeys(byIp(), (c) => c.get("email"))`. */
export const combineKeys: Functions["combineKeys"] = http.combineKeys as never;

/** Chooses the limits by a request's tier: `byTier({ free: ..., premium: ... }, (c) => c.get("plan"))`. */
export const byTier: Functions["byTier"] = http.byTier;

/** Takes limits from the request: `perRequest(gcra({ limit: 30, window: "1m" }), (c) => c.get("customer").limits)`. */
export const perRequest: Functions["perRequest"] = http.perRequest;
