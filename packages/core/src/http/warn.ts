import type { HeadgateErrorCode } from "../errors.ts";

/**
 * Warns the operator of the application that got a request; an adapter logs each code once for an application. `error` shows
 * where it came from.
 */
export type Warn = (
  code: HeadgateErrorCode,
  message: string,
  request: object,
  error?: unknown,
) => void;
