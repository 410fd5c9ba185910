import type { ServerResponse } from "node:http";
import { formatKind, formatReceived, HeadgateError } from "../errors.ts";
import type { Limiter } from "../limiter/limiter.ts";
import { partsOf } from "../limiter/limiter.ts";
import { rejectUnknownOptions } from "../options.ts";
import type { Guard } from "./guard.ts";
import { createGuard } from "./guard.ts";
import type { GuardLimiters } from "./guard-limiters.ts";
import { areReady, makeGuardLimiters } from "./guard-limiters.ts";
import type { GuardOptions } from "./guard-options.ts";
import { validateGuardOptions } from "./guard-options.ts";
import type { HttpRequest } from "./key-function.ts";
import { toError } from "./to-error.ts";
import type { Client, Verdict } from "./verdict.ts";
import type { Warn } from "./warn.ts";
import { warnOnce } from "./warn.ts";

/** What a framework's adapter asks about each request, under one set of options. */
export interface HttpGuard<Request> extends Pick<Guard<Request>, "of"> {
  /** The limiter; undefined where the limits are `byTier`. */
  readonly limiter: Limiter | undefined;
  /** The limiter of each tier, where the limits are `byTier`. */
  readonly tiers: ReadonlyMap<string, Limiter>;
  /**
   * Checks lists, the deny list, skip, limits, key, cost and decision, in this order. `response` is Node's: until it ends, places are held; then `count`
   * judges it; with `wait` it shows whether the client leaves. Rejects with an `Error` that the framework should handle, and with
   * `HEADGATE_INVALID_OPTION` for an invalid `client` or `response`.
   */
  check(request: Request, client: Client, response?: object): Promise<Verdict>;
  /** `ready` of all its limiters: resolves with whether all of their stores answered. */
  ready(): Promise<boolean>;
  /** Answers the waiting requests, and frees the names of the limiters that were created here. The store's client stays open. */
  close(): Promise<void>;
}

/** What an adapter knows about its framework, and what it does itself. */
export interface HttpAdapter<Request> {
  /** The adapter's name in the directory that operators' tools read: 1 to 64 characters. Default `"http"`. */
  readonly name?: string | undefined;
  /** The method and the route of a request as the application wrote it, such as `GET /users/:id`; undefined if there is none. */
  readonly routeOf?: ((request: Request) => string | undefined) | undefined;
  /** Warns the operator. Default: a process warning, once for each code. */
  readonly warn?: Warn | undefined;
  /** Whether the adapter calls `onDenied`, and then `conclude` of the verdict. Default false: the option is refused. */
  readonly onDenied?: boolean | undefined;
  /** Whether the adapter passes each response to `check`. Default false: `count`, `wait` and `concurrency` limits are refused. */
  readonly count?: boolean | undefined;
}

/**
 * Creates the guard that an adapter asks about each request. `owner` is the name of the adapter's function, for error messages. Throws
 * `HEADGATE_INVALID_OPTION`, `HEADGATE_INVALID_LIMIT`, `HEADGATE_DUPLICATE_NAME`.
 */
export function createHttpGuard<Request extends HttpRequest>(
  owner: string,
  options: GuardOptions<Request>,
  adapter: HttpAdapter<Request> = {},
): HttpGuard<Request> {
  rejectUnknownOptions(`${owner}: adapter`, adapter, ADAPTER_OPTIONS);
  const { name = "http", routeOf = noRoute, warn = warnProcess } = adapter;
  requireAdapterName(owner, name);
  validateGuardOptions(owner, options);
  rejectUnreadOptions(owner, options, adapter);
  const limiters = makeGuardLimiters(owner, options);
  const guard = createGuard(owner, limiters, options, { name, warn, routeOf });
  // count and wait have been refused: it is for places, or for what is kept.
  if (guard.needsResponse && adapter.count !== true) throw withoutEnd(owner, limiters);
  return {
    limiter: limiters.only,
    tiers: limiters.tiers,
    check(request, client, response) {
      const misused = misuseOf(owner, client, guard.needsResponse, response);
      if (misused !== undefined) return Promise.reject(misused);
      return guard.check(request, client, response).catch(throwError);
    },
    of: guard.of,
    ready: () => areReady(limiters.all),
    async close() {
      const ended = guard.end();
      await Promise.all([ended, limiters.close()]);
    },
  };
}

function noRoute(): undefined {
  return undefined;
}

/** Stands for the applications of a process, which adapters that have no log do not tell apart. */
const APPLICATIONS = {};

function warnProcess(code: string, message: string, _: object, error?: unknown): void {
  warnOnce(APPLICATIONS, code, message, error);
}

/** Frameworks that are handed nothing take it for no error, and leave the request without an answer. */
function throwError(reason: unknown): never {
  throw toError(reason);
}

/**
 * What an adapter handed over that is not what it should be, and would be ignored: the request would go on without a limit, count
 * whatever its answer is, or wait though its client has left.
 */
function misuseOf(
  owner: string,
  client: Client,
  needsResponse: boolean,
  response: unknown,
): HeadgateError | undefined {
  const address: unknown = client?.address ?? "";
  if (typeof client?.hasLeft !== "function" || typeof address !== "string") {
    return new HeadgateError(
      "HEADGATE_INVALID_OPTION",
      `${owner}: check takes a client made by clientOf(address, request), whose address is a string; got ${formatReceived(client)}`,
    );
  }
  if (!needsResponse || isNodeResponse(response)) return undefined;
  return new HeadgateError(
    "HEADGATE_INVALID_OPTION",
    `${owner}: for count, wait and concurrency the adapter must pass Node's response to check, got ${formatKind(response)}`,
  );
}

/** Whether it is what is watched: neither Node's request, nor a framework's own response, nor one of the Fetch API. */
function isNodeResponse(response: unknown): response is object {
  const { setHeader, prependOnceListener } = (response ?? {}) as Partial<ServerResponse>;
  return typeof setHeader === "function" && typeof prependOnceListener === "function";
}

/** What an adapter may say of its framework. */
const ADAPTER_OPTIONS: readonly string[] = ["name", "routeOf", "warn", "onDenied", "count"];

function requireAdapterName(owner: string, name: unknown): void {
  if (typeof name === "string" && name !== "" && name.length <= 64) return;
  throw new HeadgateError(
    "HEADGATE_INVALID_OPTION",
    `${owner}: adapter: name must be a string of 1 to 64 characters, got ${formatReceived(name)}`,
  );
}

/** Options for which an adapter has to do something, what it says if it does, and how to do without. */
const NOT_EVERYWHERE = [
  ["onDenied", "onDenied", "let the framework answer denied requests in your way"],
  [
    "count",
    "count",
    "give back by hand what should not count, by refund() of what the guard's of(request) finds",
  ],
  ["wait", "count", "call limiter.wait(subject, { timeout, signal }) in the handler"],
] as const;

/** Throws `HEADGATE_INVALID_OPTION` for an option that the adapter would ignore. */
function rejectUnreadOptions(
  owner: string,
  options: GuardOptions<never>,
  adapter: HttpAdapter<never>,
): void {
  for (const [option, means, instead] of NOT_EVERYWHERE) {
    if (adapter[means] === true || (options[option] ?? false) === false) continue;
    throw new HeadgateError(
      "HEADGATE_INVALID_OPTION",
      `${owner}: this adapter does not have the option ${option}; ${instead}`,
    );
  }
}

/** For places that the adapter would never give back, and charges that it would never settle. */
function withoutEnd(owner: string, limiters: GuardLimiters): HeadgateError {
  void limiters.close();
  const hasPlaces = limiters.all.some((limiter) => partsOf(limiter).counted.hasPlaces);
  const cannot = hasPlaces
    ? "hold the places of concurrency; run the work inside limiter.run(subject, fn)"
    : 'settle what a limiter with blockOn: "settle" has charged';
  return new HeadgateError(
    "HEADGATE_INVALID_OPTION",
    `${owner}: this adapter does not know when a request is over, so it cannot ${cannot}`,
  );
}
