import type { Header } from "./verdict.ts";
import { toError } from "./warn.ts";

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
