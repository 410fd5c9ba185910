import { shareByClient } from "../common/client-state.ts";
import type { HeadgateErrorCode } from "../common/errors.ts";
import { codeOf, formatKind, HeadgateError } from "../common/errors.ts";

/**
 * Error codes of servers for a wrong configuration of a server, a user or a client, which waiting will not fix. All others, and
 * every connection error, mean that the store is unavailable now.
 */
const MISCONFIGURED: readonly string[] = [
  "ERR",
  "NOAUTH",
  "WRONGPASS",
  "NOPERM",
  "NOPROTO",
  "CROSSSLOT",
];

/** Errors that also begin with `ERR`, but are temporary. */
const TEMPORARY = /^ERR (max number of clients|.*Script killed)/;

/** Redis before 7 wraps the error of a script in its own message: `ERR Error running script (...): ... -READONLY ...`. */
const WRAPPED_ERROR = /^ERR Error running script .*: -?([A-Z]+) /;

/** The error of a cluster's server if another server has the keys. */
const REDIRECTION = /^(?:MOVED|ASK) /;

/**
 * Turns a client's error into one of the store. `followsCluster` is whether the client follows MOVED and ASK. The original
 * message may name servers, and the application may show messages to its clients, so the original is only the cause. Headgate's
 * own errors are not changed.
 */
export function toStoreError(error: unknown, followsCluster: boolean): HeadgateError {
  if (codeOf(error) !== undefined) return error as HeadgateError;
  const reason = reasonOf(error);
  const [code, message] = classifyError(reason, followsCluster);
  return new HeadgateError(code, message, { cause: withoutCommand(error, reason) });
}

function classifyError(
  reason: string,
  followsCluster: boolean,
): [code: HeadgateErrorCode, message: string] {
  if (reason.startsWith("TRYAGAIN")) {
    return ["HEADGATE_HASH_SLOT_UNAVAILABLE", "the keys of this subject are being moved"];
  }
  if (reason.startsWith("CLUSTERDOWN Hash slot not served")) {
    return ["HEADGATE_HASH_SLOT_UNAVAILABLE", "no server has the slot of this subject"];
  }
  if (!followsCluster && REDIRECTION.test(reason)) {
    return [
      "HEADGATE_STORE_MISCONFIGURED",
      "the server belongs to a cluster in which another server has the keys of this subject, and a client of one server does not follow it there: use a client for clusters, new Cluster(...) of ioredis, createCluster(...) of node-redis or GlideClusterClient of Valkey GLIDE",
    ];
  }
  if (isMisconfigured(reason)) {
    return [
      "HEADGATE_STORE_MISCONFIGURED",
      "the store, as it is configured, refuses to take decisions",
    ];
  }
  return ["HEADGATE_STORE_UNAVAILABLE", "the store could not answer"];
}

/** The code at the start of a server's message is the same everywhere; the text after it is not. */
export function isServerError(error: unknown, code: string): boolean {
  return error instanceof Error && error.message.startsWith(code);
}

/**
 * Whether a server refused a script because its keys are in several hash slots, before running it, so that nothing has
 * happened. A script that is refused a key while it runs may have written others; servers then name the script.
 */
export function isCrossSlot(error: unknown): boolean {
  return isServerError(error, "CROSSSLOT") && !/script/i.test((error as Error).message);
}

function isMisconfigured(reason: string): boolean {
  if (TEMPORARY.test(reason)) return false;
  const code = WRAPPED_ERROR.exec(reason)?.[1] ?? /^-?([A-Z]+)(?: |$)/.exec(reason)?.[1];
  return code !== undefined && MISCONFIGURED.includes(code);
}

/**
 * Copies a client's error without the command, so that it is safe to pass on. ioredis adds the command with all its arguments
 * to the error, and servers quote arguments, one of which may be a password or a subject.
 */
function withoutCommand(error: unknown, reason: string = reasonOf(error)): Error {
  const clean = new Error(reason);
  if (!(error instanceof Error)) return clean;
  const { name, stack = "", code } = error as NodeJS.ErrnoException;
  const properties = { name, stack: withoutQuote(stack) };
  return Object.assign(clean, properties, code === undefined ? {} : { code });
}

/** An error's message, or that of the first error of an AggregateError, as when no address of a host was reachable. */
function reasonOf(error: unknown): string {
  if (typeof error === "string") return withoutQuote(error);
  if (!(error instanceof Error)) return formatKind(error);
  if (error.message !== "") return withoutQuote(error.message);
  const [first] = error instanceof AggregateError ? error.errors : [];
  return first === undefined ? error.name : reasonOf(first);
}

/** Removes quoted arguments, as in `ERR unknown command 'HELLO', with args beginning with: '3' 'AUTH' 'default' 'password'`. */
function withoutQuote(text: string): string {
  return text.replace(/, with args beginning with:.*/g, "");
}

interface Emitter {
  on(event: "error", listener: (error: unknown) => void): unknown;
  listenerCount(event: "error"): number;
}

/** The errors that a client reports. */
interface ClientErrors {
  /** The latest error, if it came within the last minute: an older one does not explain the current state. */
  recent(): Error | undefined;
}

const RECENT_MS = 60_000;

/**
 * Listens for a client's errors, to log why it does not answer. Without any listener, node-redis would end the process at the
 * first lost connection. If the application has none, the first error becomes a process warning with the code
 * `HEADGATE_REDIS_CLIENT_ERROR`.
 */
export const listenForErrors: (client: object) => ClientErrors = shareByClient(
  "errors",
  (client) => {
    let last: Error | undefined;
    let lastAt = Number.NEGATIVE_INFINITY;
    const errors = { recent: () => (performance.now() - lastAt < RECENT_MS ? last : undefined) };
    if (!isEmitter(client)) return errors;
    let isReported = client.listenerCount("error") > 0;
    client.on("error", (error) => {
      last = withoutCommand(error);
      lastAt = performance.now();
      if (!isReported) warn(last);
      isReported = true;
    });
    return errors;
  },
);

function warn({ message }: Error): void {
  process.emitWarning(
    `The Redis client reports: ${message}. Add an "error" listener to see every error.`,
    { type: "HeadgateWarning", code: "HEADGATE_REDIS_CLIENT_ERROR" },
  );
}

function isEmitter(client: object): client is Emitter {
  return "on" in client && "listenerCount" in client;
}
