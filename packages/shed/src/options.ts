import type { Duration } from "@headgate/core";
import { HeadgateError } from "@headgate/core";
import type { HttpRequest, KeyFunction } from "@headgate/core/http";
import {
  boundSubject,
  formatKind,
  formatReceived,
  invalidValue,
  isPromiseLike,
  parseDuration,
  rejectUnknownOptions,
  toMilliseconds,
} from "@headgate/core/internal";
import { describeKey } from "@headgate/core/internal-http";
import type { Priority } from "./law/line.ts";
import { PRIORITIES } from "./law/line.ts";
import { SHORTEST_LIMIT_MS } from "./law/wait-limit.ts";

/** Options of `loadShedder`. The functions get the request of Express, Fastify or Node; in Hono, its context. */
export interface LoadShedderOptions<Request> {
  /** The name in published messages: 1 to 512 characters. Default `"server"`. */
  readonly name?: string | undefined;
  /** How long a request may wait in line before it is shed: 20 ms to 1 minute. Default 300 ms. */
  readonly maxWait?: Duration | undefined;
  /**
   * How important a request is: `"critical"` requests are handled first and never shed; `"sheddable"` ones are handled last,
   * and shed at 0.4 of the wait. Default: all are `"default"`. Only called while requests wait.
   */
  readonly priority?: ((request: Request) => Priority | undefined) | undefined;
  /**
   * Whose request it is, such as a tenant: a key function as limits have it, `byHeader("x-api-key")` for example, but not an async
   * one. While requests wait, subjects that used over three times their fair share of handler time (of two to four subjects, over
   * three quarters of it) are shed first, at 0.4 of the wait. Undefined, null or empty if that is not known. Called for each request.
   */
  readonly subject?: KeyFunction<NoInfer<Request>> | undefined;
  /**
   * Whether a wait includes the time since a proxy set `X-Request-Start`. Only for servers that are reached through a proxy
   * alone, which replaces the header of a client. Default false.
   */
  readonly trustStartHeader?: boolean | undefined;
  /** The most requests that are handled at a time: 1 to 1,000,000. For handlers that wait for something else. Default: no limit. */
  readonly maxInFlight?: number | undefined;
  /** `Retry-After` of the response to a shed request: 1 second to 1 day. Default 1 s. */
  readonly retryAfter?: Duration | undefined;
  /** Whether requests are only reported, and handled in their turn; then `maxInFlight` keeps none waiting. Default false. */
  readonly dryRun?: boolean | undefined;
}

/** Reads the subject of a request; `address` is the client's whole address. */
export type SubjectOf = (request: object, address: string | undefined) => string | undefined;

/** The options with their defaults. */
export interface Settings<Request> {
  readonly name: string;
  readonly maxWaitMs: number;
  readonly maxInFlight: number;
  readonly trustStartHeader: boolean;
  readonly retryAfterSeconds: number;
  readonly dryRun: boolean;
  readonly priorityOf: (request: Request) => Priority;
  /** Missing if subjects are not distinguished. */
  readonly subjectOf: SubjectOf | undefined;
}

const OPTIONS = [
  "name",
  "maxWait",
  "priority",
  "subject",
  "trustStartHeader",
  "maxInFlight",
  "retryAfter",
  "dryRun",
] as const;

/** Options of @fastify/under-pressure, toobusy-js and overload-protection, and their equivalents here. */
const HINTS = {
  maxEventLoopDelay: "maxWait",
  maxEventLoopUtilization: "maxWait",
  maxLag: "maxWait",
  production: "nothing: a response never has details",
  clientRetrySecs: "retryAfter",
  sampleInterval: "nothing: each request's own wait counts",
  interval: "nothing: each request's own wait counts",
  key: "subject",
};

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const MAX_IN_FLIGHT = 1_000_000;

/** Reads the options. Throws `HEADGATE_INVALID_OPTION`. */
export function readOptions<Request>(options: LoadShedderOptions<Request>): Settings<Request> {
  rejectUnknownOptions("loadShedder", options, OPTIONS, () => HINTS);
  const { name = "server", maxInFlight = Number.POSITIVE_INFINITY } = options;
  const isName = typeof name === "string" && name !== "" && name.length <= 512;
  requireThat(isName, "name must be a string of 1 to 512 characters", name);
  const isCount = Number.isSafeInteger(maxInFlight) && maxInFlight >= 1;
  requireThat(
    options.maxInFlight === undefined || (isCount && maxInFlight <= MAX_IN_FLIGHT),
    `maxInFlight must be a whole number from 1 to ${MAX_IN_FLIGHT}`,
    maxInFlight,
  );
  const priority = readFunction("priority", options.priority);
  const subject = readFunction("subject", options.subject);
  const retryAfterMs = readDuration("retryAfter", options.retryAfter ?? "1s", 1_000, DAY_MS);
  return {
    name,
    maxWaitMs: readDuration("maxWait", options.maxWait ?? "300ms", SHORTEST_LIMIT_MS, MINUTE_MS),
    maxInFlight,
    trustStartHeader: readBoolean("trustStartHeader", options.trustStartHeader),
    retryAfterSeconds: Math.ceil(retryAfterMs / 1_000),
    dryRun: readBoolean("dryRun", options.dryRun),
    priorityOf: priority ? (request) => toPriority(priority(request)) : () => "default",
    subjectOf: subject && createSubjectReader(subject as KeyFunction),
  };
}

function readFunction<Value>(option: string, value: Value | undefined): Value | undefined {
  const isValid = value === undefined || typeof value === "function";
  requireThat(isValid, `${option} must be a function of the request`, value);
  return value;
}

function readBoolean(option: string, value: unknown = false): boolean {
  requireThat(typeof value === "boolean", `${option} must be true or false`, value);
  return value as boolean;
}

function readDuration(option: string, value: unknown, least: number, most: number): number {
  const ms = toMilliseconds(parseDuration(value, option, "HEADGATE_INVALID_OPTION"));
  const range = `${least === 1_000 ? "1 s" : `${least} ms`} to ${most === DAY_MS ? "1 day" : "1 minute"}`;
  requireThat(ms >= least && ms <= most, `${option} must be a duration from ${range}`, value);
  return ms;
}

function toPriority(value: unknown = "default"): Priority {
  const isPriority = PRIORITIES.includes(value as Priority);
  if (!isPriority) {
    if (isPromiseLike<unknown>(value)) ignoreRejection(value);
    // The value may come from a client.
    throw invalidValue(
      `loadShedder: priority must return one of ${PRIORITIES.map((one) => `"${one}"`).join(", ")}`,
      value,
      formatKind,
    );
  }
  return value as Priority;
}

/** Subjects are those that a limiter with the same key counts. */
function createSubjectReader(key: KeyFunction): SubjectOf {
  const { read } = describeKey(key);
  return (request, address) => {
    const text = read(request as HttpRequest, address, undefined);
    if (text === undefined) return undefined;
    if (typeof text === "string") return boundSubject(text);
    if (isPromiseLike(text)) {
      ignoreRejection(text);
      throw invalidSubject("a promise", text);
    }
    throw invalidSubject(formatKind(text.value), text.value);
  };
}

function invalidSubject(received: string, cause: unknown): HeadgateError {
  return new HeadgateError(
    "HEADGATE_INVALID_KEY",
    `loadShedder: subject must return a string, a whole number, null or undefined at once, got ${received}`,
    { cause },
  );
}

/** A promise without a handler would end the process if it rejected. */
function ignoreRejection(promise: PromiseLike<unknown>): void {
  promise.then(undefined, () => {});
}

function requireThat(isValid: boolean, rule: string, received: unknown): void {
  if (!isValid) throw invalidValue(`loadShedder: ${rule}`, received, formatReceived);
}
