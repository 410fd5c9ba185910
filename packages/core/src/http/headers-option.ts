import type { HeadgateError } from "../common/errors.ts";
import { formatReceived, invalidValue } from "../common/errors.ts";
import { rejectUnknownOptions } from "../common/options.ts";
import type { HeaderSettings, HeadersOption } from "./verdict.ts";

/** The valid values of each option. */
const VALUES = {
  legacy: [true, false, "x-ratelimit", "ratelimit"],
  standard: [true, false],
  reset: ["delta", "epoch", "epoch-ms"],
  retryAfter: [true, false],
} as const;

/** The option `headers` with its defaults. Throws `HEADGATE_INVALID_OPTION`. */
export function readHeadersOption(option: HeadersOption | undefined): HeaderSettings {
  if (option === false) return { legacy: false, standard: false, reset: "delta", retryAfter: true };
  const given = option === undefined || option === true ? {} : option;
  rejectUnknownOptions("headers", given, Object.keys(VALUES));
  for (const [name, values] of Object.entries(VALUES)) {
    requireOneOf(name, given[name as keyof typeof VALUES], values);
  }
  const legacy = given.legacy === undefined || given.legacy === true ? "x-ratelimit" : given.legacy;
  if (legacy === false && given.reset !== undefined) throw withoutLegacy(given.reset);
  const { standard = legacy !== "ratelimit", reset = "delta", retryAfter = true } = given;
  return { legacy, standard, reset, retryAfter };
}

function requireOneOf(option: string, value: unknown, allowed: readonly unknown[]): void {
  if (value === undefined || allowed.includes(value)) return;
  const rule = new Intl.ListFormat("en", { type: "disjunction" }).format(
    allowed.map(formatReceived),
  );
  throw invalidValue(`headers: ${option} must be ${rule}`, value);
}

/** Throws for the unit of a header that is not sent. */
function withoutLegacy(reset: string): HeadgateError {
  return invalidValue(
    "headers: reset is the unit of a legacy header, which legacy: false turns off",
    reset,
  );
}
