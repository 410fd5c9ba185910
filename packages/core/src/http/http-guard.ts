import { HeadgateError } from "../errors.ts";
import type { Limiter } from "../limiter/limiter.ts";
import type { Guard } from "./guard.ts";
import { createGuard } from "./guard.ts";
import { makeGuardLimiters } from "./guard-limiters.ts";
import type { GuardOptions } from "./guard-options.ts";
import { validateGuardOptions } from "./guard-options.ts";
import type { HttpRequest } from "./key-function.ts";
import { toError } from "./to-error.ts";
import type { Warn } from "./warn.ts";
import { warnOnce } from "./warn.ts";

/** What a framework's adapter asks about each request, under one set of options. */
export interface HttpGuard<Request> extends Guard<Request> {
  /** The limiter; undefined where the limits are `byTier`. */
  readonly limiter: Limiter | undefined;
  /** The limiter of each tier, where the limits are `byTier`. */
  readonly tiers: ReadonlyMap<string, Limiter>;
  /** Frees the names of the limiters that were made here. The store's client stays open. */
  close(): Promise<void>;
}

/** What an adapter knows of its framework, and does. */
export interface HttpAdapter<Request> {
  /** The method and the route of a request as it was written, as in `GET /users/:id`; undefined where there is none. */
  readonly routeOf?: ((request: Request) => string | undefined) | undefined;
  /** Warns the operator. Default: a warning of the process, each code once. */
  readonly warn?: Warn | undefined;
  /** Whether the adapter calls `onDenied`, and then `conclude` of the verdict. Default false: the option is refused. */
  readonly onDenied?: boolean | undefined;
}

/**
 * Prepares what an adapter asks about each request. `owner` is the adapter's function in the messages of errors. Throws
 * `HEADGATE_INVALID_OPTION`, `HEADGATE_INVALID_LIMIT`, `HEADGATE_DUPLICATE_NAME`.
 */
export function createHttpGuard<Request extends HttpRequest>(
  owner: string,
  options: GuardOptions<Request>,
  adapter: HttpAdapter<Request> = {},
): HttpGuard<Request> {
  const { routeOf = noRoute, warn = warnProcess, onDenied = false } = adapter;
  validateGuardOptions(owner, options);
  if (!onDenied && options.onDenied !== undefined) throw withoutOnDenied(owner);
  const limiters = makeGuardLimiters(owner, options);
  const guard = createGuard(owner, limiters, options, { warn, routeOf });
  return {
    limiter: limiters.only,
    tiers: limiters.tiers,
    check: (request, client) => guard.check(request, client).catch(throwError),
    of: guard.of,
    close: limiters.close,
  };
}

function noRoute(): undefined {
  return undefined;
}

function warnProcess(code: string, message: string, _: object, error?: unknown): void {
  warnOnce(process, code, message, error);
}

/** Frameworks that are handed nothing take it for no error, and leave the request without an answer. */
function throwError(reason: unknown): never {
  throw toError(reason);
}

/** An option that nobody reads would be ignored. */
function withoutOnDenied(owner: string): HeadgateError {
  return new HeadgateError(
    "HEADGATE_INVALID_OPTION",
    `${owner}: this adapter does not have the option onDenied; let the framework answer denied requests in your way`,
  );
}
