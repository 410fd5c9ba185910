import { inspect } from "node:util";
import type { HeadgateErrorCode } from "../errors.ts";
import { isFirst } from "./is-first.ts";

/**
 * Warns the operator of the application that got a request. An adapter logs each code once for an application. `error` shows
 * where it came from.
 */
export type Warn = (
  code: HeadgateErrorCode,
  message: string,
  request: object,
  error?: unknown,
) => void;

/** Warns through the process, each code once in a place. `error` shows where it came from. */
export function warnOnce(place: object, code: string, message: string, error?: unknown): void {
  if (!isFirst(place, code)) return;
  const detail = error === undefined ? {} : { detail: inspect(error) };
  process.emitWarning(message, { type: "HeadgateWarning", code, ...detail });
}
