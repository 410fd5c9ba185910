import { isPlainObject } from "./type-guards.ts";

/**
 * Every code an error of Headgate can carry, with the one sentence that explains it.
 * `docs/reference/errors.md` has a chapter for each; a test compares the two lists.
 */
export const ERROR_CODES = {
  HEADGATE_INVALID_LIMIT: "A limit is outside the range in which it can be decided exactly.",
  HEADGATE_INVALID_OPTION: "An option is unknown, of the wrong type or out of range.",
  HEADGATE_INVALID_COST:
    "A cost is not a whole number of at least 0, or names a limit that does not exist.",
  HEADGATE_COST_ABOVE_LIMIT: "The cost is more than a limit can ever grant at once.",
  HEADGATE_EMPTY_KEY: "A subject is missing or empty.",
  HEADGATE_INVALID_KEY: "A subject is neither a string nor, from a key function, a whole number.",
  HEADGATE_INVALID_DECISION: "The decision is from another limiter.",
  HEADGATE_DUPLICATE_NAME:
    "Another limiter or breaker has this name on this store, with another policy.",
  HEADGATE_OVERRIDE_IGNORED: "An override is incompatible with the limiter that it names.",
  HEADGATE_CLOSED: "The limiter or breaker has been closed.",
  HEADGATE_UNKNOWN_REDIS_CLIENT: "The value is not a Redis client that Headgate knows.",
  HEADGATE_REDIS_CLIENT_ERROR:
    "The Redis client reported an error, and the application has no listener for its errors.",
  HEADGATE_STORE_UNAVAILABLE: "The store could not answer in time, or at all.",
  HEADGATE_STORE_MISCONFIGURED: "The store cannot take decisions with its configuration.",
  HEADGATE_HASH_SLOT_UNAVAILABLE:
    "The hash slot of a subject is being moved, or no server serves it.",
  HEADGATE_STORE_DOWN: "The store stopped answering.",
  HEADGATE_STORE_UP: "The store answers again.",
  HEADGATE_WRONG_TYPE: "A Redis key that Headgate uses holds a value of the wrong type.",
  HEADGATE_REGISTRY_REFUSED: "The store refuses to keep the registry of limiters and breakers.",
  HEADGATE_USAGE_REFUSED: "The store refuses to keep the usage of limiters.",
  HEADGATE_CONTROL_CORRUPT: "The control record of a prefix in Redis cannot be read.",
  HEADGATE_BAD_REPLY: "The store gave a reply that its script never returns.",
  HEADGATE_WAIT_TIMEOUT: "The wait for admission took longer than its timeout.",
  HEADGATE_QUEUE_FULL: "Too many calls are waiting for admission already.",
  HEADGATE_SLOT_LOST: "Work may have lost the slot that it held under a concurrency limit.",
  HEADGATE_CLIENT_DISCONNECTED: "A client disconnected before its request was answered.",
  HEADGATE_NO_ADDRESS: "The request has no client address.",
  HEADGATE_UNKNOWN_TIER: "The tier of a request is not one of the configured tiers.",
  HEADGATE_NOT_AN_ERROR: "A function of the application threw something that is not an Error.",
  HEADGATE_BREAKER_OPEN: "The breaker lets no call through to this target.",
  HEADGATE_BREAKER_TIMEOUT: "A call through the breaker took longer than its timeout.",
  HEADGATE_DENIED: "The request was denied by a rate limit.",
  HEADGATE_PROXY_NOT_TRUSTED: "Forwarding headers arrive, but no proxy is trusted.",
  HEADGATE_ALL_PROXIES_TRUSTED:
    "Every client can choose its own address, because all proxies are trusted.",
  HEADGATE_RAW_ADDRESS_KEY:
    "A key function returns addresses in a form in which one client has many counters.",
  HEADGATE_KEY_TOO_EARLY:
    "A key function runs before the guard that authenticates, so addresses are counted.",
  HEADGATE_ADDRESS_HEADER_IGNORED:
    "The header with the client's address is missing, or came from an untrusted peer.",
  HEADGATE_RESPONSE_ALREADY_SENT:
    "The application answered a denied request that had already been answered.",
  HEADGATE_COUNT_FAILED: "The count function threw, or returned an invalid value.",
  HEADGATE_DURATION_WITHOUT_UNIT:
    "A duration was given as a bare number below 1,000, which is milliseconds.",
  HEADGATE_TOO_MANY_SHAPES: "Calls of one limiter passed limits of more than 64 shapes.",
  HEADGATE_SUBSCRIBER_FAILED: "A subscriber to one of Headgate's diagnostics channels failed.",
  HEADGATE_NO_LIMITS:
    "Neither a Fastify plugin nor any of its routes has limits, so no request is limited.",
  HEADGATE_CREATED_PER_REQUEST:
    "Middleware is created for each request, with its own counters, so no request is limited.",
  HEADGATE_DASHBOARD_FAILED: "The dashboard could not answer a request.",
  HEADGATE_HEADER_IGNORED: "A provider sent a rate limit header that cannot be read.",
  HEADGATE_SETTLE_FAILED: "The real cost of a call to a provider could not be settled.",
  HEADGATE_LOG_UNREADABLE: "A log for a replay cannot be read, or contains no requests.",
  HEADGATE_LOG_TOO_LARGE: "A log for a replay does not fit into the memory of this process.",
} as const;

/** The code of a `HeadgateError`: stable, and what callers should branch on. */
export type HeadgateErrorCode = keyof typeof ERROR_CODES;

/**
 * An error that Headgate throws on purpose. Recognise it by `code`, not by `instanceof`: a process may contain two copies of
 * this package.
 */
export class HeadgateError extends Error {
  override readonly name: string = "HeadgateError";
  readonly code: HeadgateErrorCode;

  constructor(code: HeadgateErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** The error for an invalid option. */
export function invalidOption(message: string): HeadgateError {
  return new HeadgateError("HEADGATE_INVALID_OPTION", message);
}

/** The error for a value that breaks a rule. Pass `formatKind` for a value that may hold a secret. */
export function invalidValue(
  rule: string,
  received: unknown,
  format: (received: unknown) => string = formatReceived,
): HeadgateError {
  return invalidOption(`${rule}, got ${format(received)}`);
}

/** The code of an error created by any copy of Headgate; undefined for everything else. */
export function codeOf(error: unknown): HeadgateErrorCode | undefined {
  const code = error instanceof Error ? (error as Partial<HeadgateError>).code : undefined;
  return typeof code === "string" && Object.hasOwn(ERROR_CODES, code) ? code : undefined;
}

/**
 * A received value for an error message: short and unambiguous; never throws. Leaves out texts inside objects and the user in a
 * URL, because a misplaced option may hold a password.
 */
export function formatReceived(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(shorten(withoutUser(value)));
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "function") return "a function";
  if (typeof value !== "object" || value === null) return String(value);
  try {
    if (Array.isArray(value)) {
      return shorten(`[${value.slice(0, MAX_SHOWN).map(formatReceived).join(",")}]`);
    }
    return shorten(
      (isPlainObject(value) ? JSON.stringify(value, hideText) : undefined) ?? "an object",
    );
  } catch {
    return "an object";
  }
}

function hideText(_name: string, value: unknown): unknown {
  return typeof value === "string" ? "..." : value;
}

/** The most items of a list that are inspected; more do not fit into a message. */
const MAX_SHOWN = 40;

/** A URL without its user and password. */
function withoutUser(text: string): string {
  return text.replace(/(\w:\/\/)[^/?#]*@/g, "$1...@");
}

/** The kind of a value, for messages that may reach a client or a log and must not reveal its content. */
export function formatKind(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

/** A number, or the kind of any other value: for values that may come from a client. */
export function formatNumber(value: unknown): string {
  return typeof value === "number" ? String(value) : formatKind(value);
}

function shorten(text: string): string {
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}
