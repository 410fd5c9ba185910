import type { HeadgateError } from "../common/errors.ts";
import { formatKind, formatReceived, invalidOption, invalidValue } from "../common/errors.ts";
import { rejectUnknownOptions } from "../common/options.ts";
import type { Limiter } from "../limiter/limiter.ts";
import { internalsOf } from "../limiter/limiter-internals.ts";
import type { Verdict } from "./apply-verdict.ts";
import type { Client, HttpRequest } from "./client.ts";
import { unwrapRequest } from "./client.ts";
import type { Guard } from "./guard.ts";
import { createGuard } from "./guard.ts";
import type { GuardLimiters } from "./guard-limiters.ts";
import { createGuardLimiters, waitUntilReady } from "./guard-limiters.ts";
import type { GuardOptions } from "./guard-options.ts";
import type { GuardAdapter } from "./guard-plan.ts";
import type { GuardSettings } from "./parse-guard-options.ts";
import { parseGuardOptions } from "./parse-guard-options.ts";
import { isNodeResponse } from "./response-end.ts";
import type { Warn } from "./warn.ts";
import { warnOnce, withErrors } from "./warn.ts";

/** Checks the requests of a framework's adapter, under one set of options. */
export interface HttpGuard<Request> extends Pick<Guard<Request>, "decisionOf" | "resetClient"> {
  /** The limiter; undefined if the limits are `byTier`. */
  readonly limiter: Limiter | undefined;
  /** The limiter of each tier, if the limits are `byTier`. */
  readonly tiers: ReadonlyMap<string, Limiter>;
  /**
   * Checks lists, the deny list, skip, limits, key, cost and decision, in this order. `response` is Node's: slots are held
   * until it ends, then `count` settles; with `wait` it shows whether the client disconnects. Rejects with an `Error` that the
   * framework should handle, and with `HEADGATE_INVALID_OPTION` for an invalid `client` or `response`.
   */
  check(request: Request, client: Client, response?: object): Promise<Verdict>;
  /**
   * Prepares the stores for the first request: await it before the server listens. Resolves with whether all answered, within
   * `connectTimeout`. An unavailable store is no error.
   */
  ready(): Promise<boolean>;
  /**
   * Ends all waits with a denial, and frees the names of the limiters that were created here. Resolves when the requests in
   * progress are decided; if a callback of the application does not settle, after a second. The store's client stays open.
   */
  close(): Promise<void>;
}

/** What an adapter knows about its framework, and which features it implements. */
export interface HttpAdapter<Request> {
  /** The adapter's name in the registry that operators' tools read: 1 to 64 characters. Default `"http"`. */
  readonly name?: string | undefined;
  /** The method and the configured route of a request, such as `GET /users/:id`; undefined if there is none. */
  readonly routeOf?: ((request: Request) => string | undefined) | undefined;
  /** Warns the operator. Default: a process warning, once for each code. */
  readonly warn?: Warn | undefined;
  /** Whether the adapter calls `onDenied`, and then `recordOutcome` of the verdict. Default false: the option is rejected. */
  readonly callsOnDenied?: boolean | undefined;
  /** Whether the adapter passes each response to `check`. Default false: `count`, `wait` and `concurrency` limits are rejected. */
  readonly passesResponse?: boolean | undefined;
}

/**
 * Creates the guard that an adapter calls for each request. `owner` is the name of the adapter's function, for error
 * messages. Throws `HEADGATE_INVALID_OPTION`, `HEADGATE_INVALID_LIMIT`, `HEADGATE_DUPLICATE_NAME`.
 */
export function createHttpGuard<Request extends HttpRequest>(
  owner: string,
  options: GuardOptions<Request>,
  adapter: HttpAdapter<Request> = {},
): HttpGuard<Request> {
  const {
    check,
    needsResponse: _,
    ...guard
  } = createAdapterGuard(owner, options, adapter, {
    unwrapRequest,
  });
  return {
    ...guard,
    check: (request, client, response) =>
      withErrors(() => {
        requireClient(owner, client);
        return check(request, client, response);
      }),
  };
}

/** The same guard for an adapter that creates clients with `clientOf` and calls `applyVerdict`: `check` returns synchronously if it can. */
export interface AdapterGuard<Request> extends Omit<HttpGuard<Request>, "check"> {
  readonly check: Guard<Request>["check"];
  readonly needsResponse: boolean;
}

/** Parts that only our own adapters pass. */
export interface InternalParts<Request>
  extends Pick<GuardAdapter<Request>, "unwrapRequest" | "costOf"> {
  /** The names of options that the adapter reads itself. */
  readonly optionNames?: readonly string[];
  /** The defaults of the options for reading requests and for responses. */
  readonly inherited?: GuardSettings<Request> | undefined;
}

export function createAdapterGuard<Request extends HttpRequest>(
  owner: string,
  options: GuardOptions<Request>,
  adapter: HttpAdapter<Request>,
  { optionNames, inherited, ...parts }: InternalParts<Request> = {},
): AdapterGuard<Request> {
  rejectUnknownOptions(`${owner}: adapter`, adapter, ADAPTER_OPTIONS);
  const { name = "http", routeOf = noRoute, warn = warnProcess } = adapter;
  requireAdapterName(owner, name);
  const settings = parseGuardOptions(owner, options, inherited, optionNames);
  rejectUnsupportedOptions(owner, settings, adapter);
  const limiters = createGuardLimiters(owner, settings);
  const guard = createGuard(owner, limiters, settings, { name, warn, routeOf, ...parts });
  // `count` and `wait` have been rejected, so the response is needed for slots, or to settle confirmed charges.
  if (guard.needsResponse && adapter.passesResponse !== true)
    throw unwatchedResponseError(owner, limiters);
  const withResponse: Guard<Request>["check"] = (request, client, response) =>
    isNodeResponse(response)
      ? guard.check(request, client, response)
      : Promise.reject(invalidResponseError(owner, response));
  return {
    limiter: limiters.single,
    tiers: limiters.tiers,
    check: guard.needsResponse ? withResponse : guard.check,
    needsResponse: guard.needsResponse,
    decisionOf: guard.decisionOf,
    resetClient: guard.resetClient,
    ready: () => waitUntilReady(limiters.all),
    async close() {
      const ended = guard.drain();
      await Promise.all([ended, limiters.close()]);
    },
  };
}

function noRoute(): undefined {
  return undefined;
}

/** For adapters without a log of their own. */
const warnProcess: Warn = (code, message, _, error) => warnOnce(process, code, message, error);

/** Throws for a client that would be ignored: the request would go on unlimited. */
function requireClient(owner: string, client: Client): void {
  const address: unknown = client?.address ?? "";
  if (typeof client?.isDisconnected === "function" && typeof address === "string") return;
  throw invalidOption(
    `${owner}: check takes a client made by clientOf(address, request), whose address is a string; got ${formatReceived(client)}`,
  );
}

/** Without Node's response, a request would count regardless of its response, or wait although its client has disconnected. */
function invalidResponseError(owner: string, response: unknown): HeadgateError {
  return invalidValue(
    `${owner}: for count, wait and concurrency the adapter must pass Node's response to check`,
    response,
    formatKind,
  );
}

/** The options with which an adapter describes its framework. */
const ADAPTER_OPTIONS: readonly string[] = [
  "name",
  "routeOf",
  "warn",
  "callsOnDenied",
  "passesResponse",
];

function requireAdapterName(owner: string, name: unknown): void {
  if (typeof name === "string" && name !== "" && name.length <= 64) return;
  throw invalidValue(`${owner}: adapter: name must be a string of 1 to 64 characters`, name);
}

/** Throws `HEADGATE_INVALID_OPTION` for an option that the adapter would ignore. */
function rejectUnsupportedOptions(
  owner: string,
  { onDenied, count, waitMs }: GuardSettings<never>,
  adapter: HttpAdapter<never>,
): void {
  const reject = (option: string, instead: string): never => {
    throw invalidOption(`${owner}: this adapter does not have the option ${option}; ${instead}`);
  };
  if (onDenied !== undefined && adapter.callsOnDenied !== true) {
    reject("onDenied", "let the framework respond to denied requests");
  }
  if (adapter.passesResponse === true) return;
  if (count !== undefined) {
    reject(
      "count",
      "refund requests that should not count: call refund() on the guard's decisionOf(request)",
    );
  }
  if (waitMs !== undefined) {
    reject("wait", "call limiter.wait(subject, { timeout, signal }) in the handler");
  }
}

/** The error for slots that the adapter would never release, and charges that it would never settle. */
function unwatchedResponseError(owner: string, limiters: GuardLimiters): HeadgateError {
  void limiters.close();
  const hasSlots = limiters.all.some((limiter) => internalsOf(limiter).policy.hasSlots);
  const cannot = hasSlots
    ? "hold the slots of concurrency limits; run the work inside limiter.run(subject, fn)"
    : 'settle the charges of a limiter with blockOn: "settle"';
  return invalidOption(
    `${owner}: this adapter does not know when a response ends, so it cannot ${cannot}`,
  );
}
