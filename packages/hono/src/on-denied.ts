import type { Decision } from "@headgate/core";
import type { Header, Rejection, Verdict } from "@headgate/core/http";
import { HeadgateDeniedError } from "@headgate/core/http";
import { DENIAL_HEADERS, toError, watchResponse } from "@headgate/core/internal-http";
import type { Context } from "hono";

/**
 * Responds to a denied request, whose status, headers and `Retry-After` are already set: returns a `Response`, or a promise of
 * one. If it returns none, Headgate responds, unless it returns or resolves `"allow"`: then the request continues, and costs
 * nothing.
 */
export type OnDenied = (c: Context, decision: Decision) => unknown;

type Denied = Verdict & { readonly kind: "denied" };

/** Sets headers on the response, even if it is created later, or removes them. */
export function setHeaders({ res: { headers } }: Context, changed: readonly Header[]): void {
  changeHeaders(headers, changed);
}

function changeHeaders(headers: Headers, changed: readonly Header[]): void {
  for (const [name, value, mode] of changed) {
    if (value === undefined) headers.delete(name);
    else if (mode) headers.append(name, value);
    else headers.set(name, value);
  }
}

/** Under this symbol a context stores the headers prepared for it so far, in order. A `WeakMap` would take longer to collect. */
const PREPARED: unique symbol = Symbol.for("@headgate/hono.headers") as never;

interface PreparedContext {
  [PREPARED]?: readonly Header[];
}

/**
 * Prepares headers for the response that the context will create. Unlike `setHeaders` it creates no `Response` for them, which
 * would cost a request on @hono/node-server more than its decision: a copy of each, and the server's fast path.
 */
export function prepareHeaders(c: Context & PreparedContext, changed: readonly Header[]): void {
  for (const [name, value, mode] of changed) {
    if (mode) c.header(name, value, { append: true });
    else c.header(name, value);
  }
  const before = c[PREPARED];
  c[PREPARED] = before === undefined ? changed : [...before, ...changed];
}

/** Sets the prepared headers on a response that was created without the context, and so has none of them. */
export function completeHeaders(c: Context & PreparedContext): void {
  const headers = c[PREPARED];
  const first = headers?.[0];
  // A response of status 101 cannot be copied.
  if (headers === undefined || first === undefined || c.res.status === 101) return;
  const { headers: set } = c.res;
  const changing = headers.filter(([name]) => !OF_POLICY.test(name));
  if ((changing.length > 0 ? changing : headers).some((header) => hasHeader(set, header))) return;
  // Hono copies a response whose headers cannot be changed, such as one of `fetch`.
  const [name, value, mode] = first;
  c.header(name, value, { append: mode !== undefined });
  changeHeaders(c.res.headers, headers.slice(1));
}

/** Headers that another limiter of the same policy sends with the same value, in a response that a gateway passes on. */
const OF_POLICY = /-(?:policy|limit)$/i;

function hasHeader(headers: Headers, [name, value, mode]: Header): boolean {
  const set = headers.get(name);
  if (set === null || value === undefined) return false;
  return mode === "append" ? set.includes(value) : set === value;
}

/** Responds to a request that does not continue. */
export function reject(c: Context, { status, contentType, body }: Rejection): Response {
  // Not a Response of its own: where no route follows, Hono would not put the headers on it.
  return c.body(body, status as 429, { "content-type": contentType });
}

/** The denial as an error, to which Hono's own error handler can respond, too. */
export function deniedError(c: Context, { decision, rejection }: Denied): HeadgateDeniedError {
  return Object.assign(new HeadgateDeniedError(decision), {
    getResponse: () => reject(c, rejection),
  });
}

/**
 * Adds the headers of a denial that are still set to a response that was not created by the context. Hono adds them itself,
 * except if the limiter is the only middleware of a path. Headers that the response already has stay.
 */
function addMissingHeaders(c: Context, headers: readonly Header[], answer: Response): Response {
  const { headers: set } = c.res;
  const missing = headers.filter(([name]) => set.has(name) && !answer.headers.has(name));
  if (missing.length === 0) return answer;
  const kept = new Response(answer.body, answer);
  for (const [name] of missing) kept.headers.set(name, set.get(name) as string);
  return kept;
}

/** The original methods of errors by the methods that replaced them: an application may throw the same error again. */
const ownMethods = new WeakMap<() => Response, () => Response>();

/** Adds the headers of a denial to the response of an error that has one, such as `HTTPException`. */
function addHeadersToErrorResponse(c: Context, headers: readonly Header[], error: Error): Error {
  const { getResponse } = error as { getResponse?: () => Response };
  if (typeof getResponse !== "function") return error;
  const own = ownMethods.get(getResponse) ?? getResponse;
  const value = (): Response => addMissingHeaders(c, headers, own.call(error));
  ownMethods.set(value, own);
  Reflect.defineProperty(error, "getResponse", { value, configurable: true, writable: true });
  return error;
}

/** Calls `onDenied`. Resolves with the response; undefined if the request continues. Rejects with the error for `onError`. */
export async function respondToDenial(
  onDenied: OnDenied,
  c: Context,
  response: object,
  { decision, headers, rejection, recordOutcome }: Denied,
): Promise<Response | undefined> {
  const { headers: set } = c.res;
  const before = DENIAL_HEADERS.map((name) => [name, set.get(name) ?? undefined] as const);
  setHeaders(c, headers);
  c.status(rejection.status as 429);
  let isOver = false;
  const end = (): void => {
    isOver = true;
    recordOutcome?.(false);
  };
  const stopWatching = watchResponse(response, { onSent: end, onDisconnected: end });
  let result: unknown;
  try {
    result = await onDenied(c, decision);
  } catch (error) {
    // A bug in onDenied is an error of status 500. The headers stay: they still say how long to wait.
    c.status(200);
    recordOutcome?.(false);
    throw addHeadersToErrorResponse(c, headers, toError(error));
  } finally {
    stopWatching();
  }
  const isAllowed = result === "allow" && !c.finalized && !isOver;
  recordOutcome?.(isAllowed);
  if (isAllowed) {
    c.status(200);
    setHeaders(c, before);
    return undefined;
  }
  if (result instanceof Response) return addMissingHeaders(c, headers, result);
  return c.finalized ? c.res : reject(c, rejection);
}
