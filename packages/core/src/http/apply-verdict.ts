import type { Decision } from "../common/decision.ts";
import type { Awaitable } from "../common/type-guards.ts";
import type { Header } from "./headers.ts";
import { toError } from "./warn.ts";

/**
 * Applies a verdict in an adapter: `respond` applies it to the response, and returns, now or later, whether the request
 * continues. Then `next` is called at most once, without an argument or with an error.
 */
export function applyVerdict<Request, Reply>(
  decided: Awaitable<Verdict>,
  respond: (verdict: Verdict, request: Request, reply: Reply) => Awaitable<boolean>,
  request: Request,
  reply: Reply,
  next: (error?: Error) => void,
): void {
  if ("then" in decided) {
    decided.then(
      (verdict) => applyVerdict(verdict, respond, request, reply, next),
      (reason) => next(toError(reason)),
    );
    return;
  }
  let goesOn: Awaitable<boolean>;
  try {
    goesOn = respond(decided, request, reply);
  } catch (reason) {
    fail(decided, next, reason);
    return;
  }
  if (typeof goesOn !== "boolean") {
    goesOn.then(
      (later) => proceed(decided, next, later),
      (reason) => fail(decided, next, reason),
    );
  } else if (decided.kind === "denied") proceed(decided, next, goesOn);
  else if (goesOn) next();
}

function proceed(verdict: Verdict, next: () => void, goesOn: boolean): void {
  if (verdict.kind === "denied") verdict.recordOutcome?.(goesOn);
  if (goesOn) next();
}

function fail(verdict: Verdict, next: (error: Error) => void, reason: unknown): void {
  if (verdict.kind === "denied") verdict.recordOutcome?.(false);
  next(toError(reason));
}

/** Sets headers on Node's response, or removes them. */
export function setHeaders(
  response: Pick<WritableResponse, "getHeader" | "setHeader" | "removeHeader">,
  headers: readonly Header[],
): void {
  for (const header of headers) {
    const [name, plain, mode] = header;
    const value = mode === undefined ? plain : resolveHeaderValue(header, response.getHeader(name));
    if (value === undefined) response.removeHeader(name);
    else response.setHeader(name, value);
  }
}

/** Sends the response to a rejected request on Node's response. */
export function sendRejection(
  response: Pick<WritableResponse, "statusCode" | "setHeader" | "end">,
  { status, contentType, body }: Rejection,
): void {
  response.statusCode = status;
  response.setHeader("Content-Type", contentType);
  response.end(body);
}

/** The members of Node's response that Headgate uses, which is also the response of Express and Koa (`ctx.res`). */
interface WritableResponse {
  statusCode: number;
  getHeader(name: string): unknown;
  setHeader(name: string, value: string): unknown;
  removeHeader(name: string): unknown;
  end(body: string): unknown;
}

/** The value of a header on a response whose current value is `before`. */
export function resolveHeaderValue([, value, mode]: Header, before: unknown): string | undefined {
  return mode === undefined || before === undefined ? value : `${before}, ${value}`;
}

/** An error with the headers of its response, as in `http-errors`. */
export interface ErrorWithHeaders extends Error {
  readonly headers: Readonly<Record<string, string>>;
}

/** Headers that we put on errors, with the error's own ones: an application may throw the same error again. */
const ownHeaders = new WeakMap<object, unknown>();

/**
 * Puts the headers of a denial on the error thrown for it, as `error.headers`: some frameworks, such as Koa, drop the
 * response's headers when they respond to an error, and send the error's. Headers that the error already has are kept. Returns
 * `reason`, the thrown value, or an `Error` if it is not one.
 */
export function addHeadersToError(reason: unknown, headers: readonly Header[]): ErrorWithHeaders {
  const error = toError(reason);
  const { headers: found } = error as { headers?: unknown };
  const own = ownHeaders.has(Object(found)) ? ownHeaders.get(Object(found)) : found;
  const kept: Record<string, string> = { ...(typeof own === "object" ? own : undefined) };
  const names = new Set(Object.keys(kept).map((name) => name.toLowerCase()));
  for (const [name, value] of headers) {
    if (value !== undefined && !names.has(name.toLowerCase())) kept[name] = value;
  }
  ownHeaders.set(kept, own);
  const property = { value: kept, enumerable: true, configurable: true, writable: true };
  // A frozen error cannot get a property, so an object that inherits from it does.
  if (!Reflect.defineProperty(error, "headers", property)) {
    return Object.create(error, { headers: property });
  }
  return error as ErrorWithHeaders;
}

/** Fastify's reply, which has headers of its own in addition to those of Node's response. */
export interface ReplyWithRaw {
  readonly raw: {
    readonly headersSent: boolean;
    getHeader(name: string): unknown;
    setHeader(name: string, value: string): unknown;
    removeHeader(name: string): unknown;
  };
  getHeader(name: string): unknown;
  header(name: string, value: unknown): unknown;
  removeHeader(name: string): unknown;
}

/** Headers that are set on a reply and on its raw response. */
export interface MirroredHeaders {
  /** Copies the raw response's current values to the reply, for an error handler to see. */
  copyBack(): void;
  /** Restores the raw response. */
  restore(): void;
}

/**
 * Sets headers of a reply on its raw response too, for code that responds there. Headers removed
 * from the reply later are removed from both.
 */
export function mirrorHeaders(reply: ReplyWithRaw, headers: readonly Header[]): MirroredHeaders {
  const { raw, removeHeader } = reply;
  const before = headers.map(([name]) => [name, raw.getHeader(name)] as const);
  const shown = headers
    .filter(([, value]) => value !== undefined)
    .map(([name]) => [name, reply.getHeader(name) as string] as const);
  for (const [name, value] of shown) raw.setHeader(name, value);
  const names = new Set(shown.map(([name]) => name.toLowerCase()));
  reply.removeHeader = (name) => {
    if (names.has(name.toLowerCase()) && !raw.headersSent) raw.removeHeader(name);
    return removeHeader.call(reply, name);
  };
  return {
    copyBack() {
      for (const [name, value] of shown) {
        const now = raw.getHeader(name);
        if (now === undefined) reply.removeHeader(name);
        else if (String(now) !== String(value)) reply.header(name, now);
      }
    },
    restore() {
      for (const [name, value] of before) {
        if (value === undefined) raw.removeHeader(name);
        else raw.setHeader(name, value as string);
      }
    },
  };
}

/** The response to a rejected request. */
export interface Rejection {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

/** Tells an adapter how to handle a request. */
export type Verdict =
  /**
   * The request continues, and there is nothing to show: no limiter was called, it was called by an earlier guard, or it is in
   * shadow mode.
   */
  | { readonly kind: "pass" }
  /** The client has disconnected, so no response is needed. */
  | { readonly kind: "disconnected" }
  /** The request continues. `decision` is the binding one of this request so far; the headers are for its response. */
  | { readonly kind: "allowed"; readonly decision: Decision; readonly headers: readonly Header[] }
  | {
      readonly kind: "denied";
      readonly decision: Decision;
      readonly headers: readonly Header[];
      readonly rejection: Rejection;
      /**
       * Call it once it is known whether the application lets the request through. Missing if it must not. Only the first call
       * counts.
       */
      readonly recordOutcome?: (letThrough: boolean) => void;
    }
  /** The request gets a response without being counted: it has no key, or its client is on a deny list. */
  | {
      readonly kind: "refused";
      readonly headers: readonly Header[];
      readonly rejection: Rejection;
    };

export const PASS: Verdict = { kind: "pass" };

export const DISCONNECTED: Verdict = { kind: "disconnected" };
