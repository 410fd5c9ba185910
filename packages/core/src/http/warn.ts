import { inspect } from "node:util";
import type { HeadgateErrorCode } from "../common/errors.ts";
import { formatKind, HeadgateError } from "../common/errors.ts";
import { isFirstWarning } from "../common/operator-log.ts";
import type { Awaitable } from "../common/type-guards.ts";

/**
 * Warns the operator of the application that received a request. An adapter logs each code once per application. `error` shows
 * where it came from.
 */
export type Warn = (
  code: HeadgateErrorCode,
  message: string,
  request: object,
  error?: unknown,
) => void;

/** Emits a process warning, once for each code and application. `error` shows where it came from. */
export function warnOnce(
  application: object,
  code: HeadgateErrorCode,
  message: string,
  error?: unknown,
): void {
  if (!isFirstWarning(application, code)) return;
  const detail = error === undefined ? {} : { detail: inspect(error) };
  process.emitWarning(message, { type: "HeadgateWarning", code, ...detail });
}

/**
 * Turns a value thrown by a function of the application into an error that frameworks recognise. Frameworks go on with the
 * request if the value is empty, and Express treats some strings as instructions.
 */
export function toError(reason: unknown): Error {
  if (reason instanceof Error) return reason;
  return new HeadgateError(
    "HEADGATE_NOT_AN_ERROR",
    `a function of the application threw or rejected with ${formatKind(reason)}, which is not an Error`,
    { cause: reason },
  );
}

/** Makes a call, and turns whatever it throws or rejects with into an `Error`. */
export async function withErrors<T>(call: () => Awaitable<T>): Promise<T> {
  try {
    return await call();
  } catch (reason) {
    throw toError(reason);
  }
}
