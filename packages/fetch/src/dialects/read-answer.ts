import type { Budget, BudgetHeaders, Dialect, DialectName, ProviderAnswer } from "./dialect.ts";
import { DIALECTS } from "./dialects.ts";
import { parseRateLimitFields } from "./ratelimit-fields.ts";
import { MAX_VALUE, parseDate, parseNumber, parseTime } from "./values.ts";

/** The part of an answer that is read: its status, and its headers by their names in lower case. */
export interface AnswerHead {
  readonly status: number;
  header(name: string): string | undefined;
}

/** The status of an answer that was limited, and of one by an overloaded server. */
const TOO_MANY_REQUESTS = 429;
export const UNAVAILABLE = 503;

/**
 * Reads what an answer says about the provider's limits, in the first dialect that it is in. `now` is the time of this process in
 * milliseconds since the Unix epoch; times are measured by the `Date` of the answer, if it has one. Never throws: values that
 * cannot be read are listed in `unreadable`.
 */
export function readAnswer(
  head: AnswerHead,
  now: number,
  names?: readonly DialectName[],
): ProviderAnswer {
  const unreadable: string[] = [];
  const header = (name: string): string | undefined => {
    const value = head.header(name)?.trim();
    return value === undefined || value === "" || value.length > MAX_VALUE ? undefined : value;
  };
  const clock = parseDate(header("date") ?? "") ?? now;
  /** Reads a header; lists it if it is there and cannot be read. */
  const read = <T>(name: string, parse: (value: string) => T | undefined): T | undefined => {
    const value = header(name);
    const parsed = value === undefined ? undefined : parse(value);
    if (value !== undefined && parsed === undefined) unreadable.push(name);
    return parsed;
  };
  const time = (name: string) => read(name, (value) => parseTime(value, clock));
  const dialect = DIALECTS.find(
    ({ name, recognisedBy }) =>
      (names?.includes(name) ?? true) && recognisedBy.some((one) => header(one) !== undefined),
  );
  const budgets = dialect === undefined ? [] : budgetsOf(dialect, read, time);
  const millis = read("retry-after-ms", parseNumber);
  const retryAfterMs = millis === undefined ? time("retry-after") : Math.ceil(millis);
  const { status } = head;
  const isEmpty = budgets.some(({ remaining }) => remaining === 0);
  const isLimited =
    status === TOO_MANY_REQUESTS ||
    (status === UNAVAILABLE && retryAfterMs !== undefined) ||
    (status === dialect?.alsoLimits?.status && (retryAfterMs !== undefined || isEmpty));
  return {
    dialect: dialect?.name,
    budgets,
    isLimited,
    waitMs: isLimited ? (retryAfterMs ?? windowEndOf(dialect, budgets)) : undefined,
    shouldRetry: dialect?.shouldRetry === undefined ? undefined : read(dialect.shouldRetry, flag),
    unreadable,
  };
}

/** Reads a header with a function that returns undefined for what it cannot read. */
type ReadHeader = <T>(name: string, parse: (value: string) => T | undefined) => T | undefined;

function budgetsOf(
  dialect: Dialect,
  read: ReadHeader,
  time: (name: string) => number | undefined,
): readonly Budget[] {
  if (dialect.name === "ietf") {
    const policy = read("ratelimit-policy", String);
    return read("ratelimit", (value) => parseRateLimitFields(value, policy)) ?? [];
  }
  const named = dialect.bucket === undefined ? undefined : read(dialect.bucket, String);
  const bucket = named === dialect.mainBucket ? undefined : named;
  return dialect.budgets.flatMap((headers) => budgetOf(headers, bucket, read, time) ?? []);
}

function budgetOf(
  { unit, limit, remaining, reset = [] }: BudgetHeaders,
  bucket: string | undefined,
  read: ReadHeader,
  time: (name: string) => number | undefined,
): Budget | undefined {
  const left = read(remaining, parseRemaining);
  if (left === undefined) return undefined;
  let resetMs: number | undefined;
  for (const name of reset) resetMs ??= time(name);
  return {
    unit,
    bucket,
    limit: left.limit ?? (limit === undefined ? undefined : read(limit, parseQuota)),
    remaining: Math.floor(left.remaining),
    resetMs,
    windowMs: undefined,
  };
}

/** Reads `12`, or Shopify's `32/40`: the used units and all of them. */
function parseRemaining(text: string): { remaining: number; limit?: number } | undefined {
  const [, used, all] = /^(\d{1,15})\/(\d{1,15})$/.exec(text) ?? [];
  if (used !== undefined) {
    return { remaining: Math.max(0, Number(all) - Number(used)), limit: Number(all) };
  }
  const remaining = parseNumber(text);
  return remaining === undefined ? undefined : { remaining };
}

/** Reads `100`, or the first number of `100, 100;w=60` (draft 6). */
function parseQuota(text: string): number | undefined {
  const [first = ""] = text.split(/[,;]/, 1);
  return parseNumber(first.trim());
}

function flag(text: string): boolean | undefined {
  return text === "true" ? true : text === "false" ? false : undefined;
}

/** When the budgets without units left have some again, where their reset time says that. */
export function windowEndOf(
  dialect: Dialect | undefined,
  budgets: readonly Budget[],
): number | undefined {
  if (dialect?.resetIs === "full-bucket") return undefined;
  const ends = budgets.flatMap(({ remaining, resetMs }) =>
    remaining === 0 && resetMs !== undefined ? resetMs : [],
  );
  return ends.length === 0 ? undefined : Math.max(...ends);
}
