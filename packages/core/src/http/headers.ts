import type { Decision, LimitState } from "../decision.ts";
import { isOfPlaces } from "../decision.ts";
import { formatReceived, HeadgateError } from "../errors.ts";
import { rejectUnknownOptions } from "../options.ts";
import type { LimitDescription } from "../policy.ts";

/** A header's name and value; undefined takes it off the answer. One that is `added` goes behind what the answer has by its name. */
export type Header = readonly [name: string, value: string | undefined, added?: "added"];

/** A header's value on an answer that has `before` by its name. */
export function valueBehind([, value, added]: Header, before: unknown): string | undefined {
  return added === undefined || before === undefined ? value : `${before}, ${value}`;
}

/** Which rate limit headers an answer carries. */
export interface HeaderOptions {
  /** `X-RateLimit-Limit`, `-Remaining`, `-Reset`. Default true. */
  readonly legacy?: boolean | undefined;
  /** `RateLimit-Policy` and `RateLimit`, draft-ietf-httpapi-ratelimit-headers-11. Default true. */
  readonly standard?: boolean | undefined;
  /** The unit of `X-RateLimit-Reset`: seconds from now (`"delta"`, default), or since the Unix epoch (`"epoch"`). */
  readonly legacyReset?: "delta" | "epoch" | undefined;
}

/** Which headers an answer carries; `false` for only `Retry-After`. */
export type HeadersOption = HeaderOptions | boolean;

/** The option with its defaults. Throws `HEADGATE_INVALID_OPTION`. */
export function readHeadersOption(option: HeadersOption | undefined): Required<HeaderOptions> {
  if (option === false) return { legacy: false, standard: false, legacyReset: "delta" };
  const options = option === undefined || option === true ? {} : option;
  rejectUnknownOptions("headers", options, ["legacy", "standard", "legacyReset"]);
  const { legacy = true, standard = true, legacyReset = "delta" } = options;
  requireOneOf("legacy", legacy, [true, false]);
  requireOneOf("standard", standard, [true, false]);
  requireOneOf("legacyReset", legacyReset, ["delta", "epoch"]);
  return { legacy, standard, legacyReset };
}

function requireOneOf(option: string, value: unknown, allowed: readonly unknown[]): void {
  if (allowed.includes(value)) return;
  throw new HeadgateError(
    "HEADGATE_INVALID_OPTION",
    `headers: ${option} must be ${allowed.map(formatReceived).join(" or ")}, got ${formatReceived(value)}`,
  );
}

/** The binding limit's numbers under their oldest names, `X-RateLimit-*`. `nowMs` is the wall clock. */
export function formatLegacy(
  decision: Decision,
  legacyReset: "delta" | "epoch",
  nowMs: number,
): Header[] {
  const reset =
    legacyReset === "delta"
      ? toSeconds(decision.resetAfterMs)
      : toSeconds(nowMs + decision.resetAfterMs);
  return [
    ["X-RateLimit-Limit", String(decision.limit)],
    ["X-RateLimit-Remaining", String(decision.remaining)],
    ["X-RateLimit-Reset", String(reset)],
  ];
}

/**
 * `RateLimit-Policy`: every limit's quota and window (left out below a second), as an RFC 9651 list. `names` are the limits',
 * quoted.
 */
export function formatPolicy(
  limits: readonly LimitDescription[],
  names: readonly string[] = limits.map(({ name }) => quoteName(name)),
): string {
  let list = "";
  for (let i = 0; i < limits.length; i += 1) {
    const { limit, windowMs } = limits[i] as LimitDescription;
    const window = windowMs >= 1_000 ? `;w=${toSeconds(windowMs)}` : "";
    const item = `${names[i]};q=${limit}${window}`;
    list = i === 0 ? item : `${list}, ${item}`;
  }
  return list;
}

/**
 * `RateLimit`: what is left of every limit, and in how many seconds that grows, where anybody knows, as an RFC 9651 list. `names` are the limits',
 * quoted.
 */
export function formatRemaining(
  limits: readonly LimitState[],
  names: readonly string[] = limits.map(({ name }) => quoteName(name)),
): string {
  let list = "";
  for (let i = 0; i < limits.length; i += 1) {
    const limit = limits[i] as LimitState;
    const time = isOfPlaces(limit) ? "" : `;t=${toSeconds(limit.growsAfterMs)}`;
    const item = `${names[i]};r=${limit.remaining}${time}`;
    list = i === 0 ? item : `${list}, ${item}`;
  }
  return list;
}

/** `Retry-After` in whole seconds (RFC 9110 §10.2.3), rounded up; undefined if waiting does not help. */
export function formatRetryAfter(decision: Decision): string | undefined {
  return Number.isFinite(decision.retryAfterMs)
    ? String(toSeconds(decision.retryAfterMs))
    : undefined;
}

/** `Server-Timing` (W3C): milliseconds in line. */
export function formatWaited(waitedMs: number): string {
  return `headgate;dur=${waitedMs.toFixed(1)}`;
}

function toSeconds(milliseconds: number): number {
  return Math.ceil(milliseconds / 1_000);
}

/** A limit's name, which is printable ASCII, as a string of RFC 9651 §4.1.6; JSON writes it alike. */
export function quoteName(name: string): string {
  return JSON.stringify(name);
}
