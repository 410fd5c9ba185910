import type { HeadgateErrorCode } from "../errors.ts";
import { HeadgateError } from "../errors.ts";

/**
 * Codes of servers that say how a server, a user or a client is set up, and that no waiting mends. All others, and every
 * error of a connection, mean that the store cannot answer now.
 */
const MISCONFIGURED: readonly string[] = [
  "ERR",
  "NOAUTH",
  "WRONGPASS",
  "NOPERM",
  "NOPROTO",
  "CROSSSLOT",
];

/** Servers say `ERR` of these as well, and they pass. */
const PASSING = /^ERR (max number of clients|.*Script killed)/;

/** Redis before 7 puts an error of a script behind words of its own: `ERR Error running script (...): ... -READONLY ...`. */
const WRAPPED = /^ERR Error running script .*: -?([A-Z]+) /;

/**
 * What a client's error means for the store. Its words may name servers, and messages may reach a client of the application:
 * they stand in the cause. Errors of Headgate's own stay what they are.
 */
export function toStoreError(error: unknown): HeadgateError {
  if (error instanceof HeadgateError) return error;
  const reason = reasonOf(error);
  const [code, message] = meaningOf(reason);
  const cause = error instanceof Error && error.message !== "" ? error : new Error(reason);
  return new HeadgateError(code, message, { cause });
}

function meaningOf(reason: string): [code: HeadgateErrorCode, message: string] {
  if (reason.startsWith("TRYAGAIN")) {
    return ["HEADGATE_SLOT_MOVING", "the keys of this subject are being moved to another server"];
  }
  if (isMisconfigured(reason)) {
    return ["HEADGATE_STORE_MISCONFIGURED", "the store refuses to take decisions as it is set up"];
  }
  return ["HEADGATE_STORE_UNAVAILABLE", "the store could not answer"];
}

/** The code in front of a server's message is the same everywhere; the words after it are not. */
export function isServerError(error: unknown, code: string): boolean {
  return error instanceof Error && error.message.startsWith(code);
}

function isMisconfigured(reason: string): boolean {
  if (PASSING.test(reason)) return false;
  const code = WRAPPED.exec(reason)?.[1] ?? /^-?([A-Z]+)(?: |$)/.exec(reason)?.[1];
  return code !== undefined && MISCONFIGURED.includes(code);
}

/** An error's words; those of the first of several where it has none, as when no address of a host could be reached. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.message !== "") return error.message;
  const [first] = error instanceof AggregateError ? error.errors : [];
  return first === undefined ? error.name : reasonOf(first);
}
