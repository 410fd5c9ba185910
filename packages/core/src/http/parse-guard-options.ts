import { compileLimit } from "../algorithms/compile-policy.ts";
import { codeOf, HeadgateError, invalidValue } from "../common/errors.ts";
import { migrationHintsFor } from "../common/migration-hints.ts";
import { rejectUnknownOptions } from "../common/options.ts";
import type { Policy } from "../common/policy.ts";
import { parseDuration, toMilliseconds } from "../common/time.ts";
import { isPlainObject } from "../common/type-guards.ts";
import type { FailureOptions } from "../limiter/failure-options.ts";
import { FAILURE_OPTIONS, readFailureOptions } from "../limiter/failure-options.ts";
import type { GuardOptions, MissingKey } from "./guard-options.ts";
import type { HeaderSettings } from "./headers.ts";
import { readHeadersOption } from "./headers.ts";
import type { ParsedList } from "./lists.ts";
import { readList } from "./lists.ts";
import type { AddressHeader } from "./proxy-trust.ts";
import { readAddressOption } from "./proxy-trust.ts";
import { isRequestPolicy, isTierPolicy, requireLimitsOf, requireTiers } from "./request-limits.ts";

/** The limiter's failure options, only those that were given. */
export type GuardLimiterOptions = FailureOptions & Pick<GuardOptions<never>, "maxQueue" | "shadow">;

/** The options of one guard, checked and read once. */
export interface GuardSettings<Request>
  extends Readonly<
    Pick<
      GuardOptions<Request>,
      "name" | "limits" | "limiter" | "store" | "key" | "cost" | "count" | "skip" | "onDenied"
    >
  > {
  /** Whether limits or a limiter were given, even as undefined. */
  readonly hasLimits: boolean;
  readonly limiterOptions: GuardLimiterOptions;
  /** The key given here, not inherited. */
  readonly ownKey: GuardOptions<Request>["key"];
  readonly resetDimensions: readonly string[] | undefined;
  /** The dimensions given here, not inherited. */
  readonly ownResetDimensions: readonly string[] | undefined;
  readonly missingKey: MissingKey;
  readonly address: AddressHeader | undefined;
  readonly allowList: ParsedList<Request> | undefined;
  readonly denyList: ParsedList<Request> | undefined;
  readonly headers: HeaderSettings;
  /** The longest wait of a denied request, in milliseconds. */
  readonly waitMs: number | undefined;
}

/** The names of these options. */
export const LIMITER_OPTIONS: readonly (keyof GuardLimiterOptions)[] = [
  "maxQueue",
  "shadow",
  ...FAILURE_OPTIONS,
];

/** The options' names. */
export const GUARD_OPTIONS: readonly string[] = [
  "name",
  "limits",
  "limiter",
  "store",
  "key",
  "address",
  "allowList",
  "denyList",
  "missingKey",
  "cost",
  "count",
  "resetDimensions",
  "skip",
  "headers",
  "onDenied",
  "wait",
  ...LIMITER_OPTIONS,
];

/**
 * Reads the options of a guard. Options for reading requests and for responses default to `inherited`. `adapterOptions` names options
 * that the adapter reads itself. Throws `HEADGATE_INVALID_OPTION` with Headgate's equivalent for an option of another library, and
 * `HEADGATE_INVALID_LIMIT`.
 */
export function parseGuardOptions<Request>(
  owner: string,
  raw: GuardOptions<Request>,
  inherited?: GuardSettings<Request>,
  adapterOptions: readonly string[] = [],
): GuardSettings<Request> {
  rejectUnknownOptions(owner, raw, [...GUARD_OPTIONS, ...adapterOptions], () =>
    migrationHintsFor(raw),
  );
  const { name, limits, limiter, store, address, allowList, denyList, headers, wait, key } = raw;
  const addressHeader = address === undefined ? undefined : readAddressOption(owner, address);
  const lists = {
    denyList: readList(owner, "denyList", denyList),
    allowList: readList(owner, "allowList", allowList),
  };
  const read = withOwner(owner, () => {
    validateLimits(limits as GuardOptions<never>["limits"]);
    const readHeaders = readHeadersOption(headers);
    readFailureOptions(raw);
    return { headers: readHeaders, waitMs: readWaitOption(wait) };
  });
  for (const [option, holds, rule] of RULES) requireThat(owner, option, raw[option], holds, rule);
  return Object.freeze({
    name,
    limits,
    limiter,
    store,
    hasLimits: "limits" in raw || "limiter" in raw,
    limiterOptions: pickLimiterOptions(raw),
    key: key ?? inherited?.key,
    ownKey: key === inherited?.key ? undefined : key,
    missingKey: raw.missingKey ?? inherited?.missingKey ?? "ip",
    address: addressHeader ?? inherited?.address,
    allowList: allowList === undefined ? inherited?.allowList : lists.allowList,
    denyList: denyList === undefined ? inherited?.denyList : lists.denyList,
    cost: raw.cost ?? inherited?.cost,
    count: raw.count ?? inherited?.count,
    resetDimensions: raw.resetDimensions ?? inherited?.resetDimensions,
    ownResetDimensions: raw.resetDimensions,
    skip: raw.skip ?? inherited?.skip,
    headers: headers === undefined ? (inherited?.headers ?? read.headers) : read.headers,
    onDenied: raw.onDenied ?? inherited?.onDenied,
    waitMs: wait === undefined ? inherited?.waitMs : read.waitMs,
  });
}

function pickLimiterOptions(raw: GuardLimiterOptions): GuardLimiterOptions {
  const given = LIMITER_OPTIONS.filter((option) => raw[option] !== undefined);
  return Object.fromEntries(given.map((option) => [option, raw[option]]));
}

type OptionTest = (value: unknown) => boolean;

/** The options that only need a type check. */
const RULES: readonly (readonly [keyof GuardOptions<never>, OptionTest, string])[] = [
  ["missingKey", isOneOf("ip", "reject", "skip"), '"ip", "reject" or "skip"'],
  ["skip", isFunction, "a function"],
  ["maxQueue", (value) => isWhole(value, 1), "a whole number of at least 1"],
  ["shadow", isOneOf(true, false), "true or false"],
  [
    "cost",
    (value) => isFunction(value) || isPlainObject(value) || isWhole(value, 0),
    "a whole number of at least 0, an object with units by the names of limits, or a function",
  ],
  [
    "count",
    (value) => isFunction(value) || isOneOf("all", "failed", "succeeded")(value),
    '"all", "failed", "succeeded" or a function',
  ],
  ["key", isKeyOption, "a function, or an object with one for each dimension"],
  ["resetDimensions", isNameList, "a list of dimensions"],
  ["onDenied", (value) => isFunction(value) || value === "error", 'a function or "error"'],
];

function requireThat(
  owner: string,
  option: string,
  value: unknown,
  holds: OptionTest,
  rule: string,
): void {
  if (value === undefined || holds(value)) return;
  throw invalidValue(`${owner}: ${option} must be ${rule}`, value);
}

function isFunction(value: unknown): boolean {
  return typeof value === "function";
}

function isWhole(value: unknown, min: number): boolean {
  return Number.isSafeInteger(value) && (value as number) >= min;
}

function isOneOf(...allowed: readonly unknown[]): OptionTest {
  return (value) => allowed.includes(value);
}

function isNameList(value: unknown): boolean {
  const isName = (one: unknown) => typeof one === "string" && one !== "";
  return Array.isArray(value) && value.length > 0 && value.every(isName);
}

function isKeyOption(value: unknown): boolean {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return isFunction(value);
  return Object.values(value).every(isFunction);
}

/** Adds the owner of the options, such as a route, to an error's message. */
function withOwner<Result>(owner: string, read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    const code = codeOf(error);
    if (code === undefined) throw error;
    throw new HeadgateError(code, `${owner}: ${(error as Error).message}`, { cause: error });
  }
}

/** Throws `HEADGATE_INVALID_LIMIT` for limits that are invalid on any store. */
function validateLimits(limits: GuardOptions<never>["limits"]): void {
  if (limits === undefined) return;
  for (const policy of policiesIn(limits)) {
    const list = [policy].flat();
    for (const limit of list) compileLimit(limit);
    if (list.length > 0) continue;
    throw new HeadgateError("HEADGATE_INVALID_LIMIT", "limits must hold at least one, got []");
  }
}

function policiesIn(limits: NonNullable<GuardOptions<never>["limits"]>): readonly Policy[] {
  if (isTierPolicy(limits)) {
    requireTiers(limits);
    return Object.values(limits.tiers).filter((policy) => policy !== null);
  }
  if (!isRequestPolicy(limits)) return [limits as Policy];
  requireLimitsOf(limits);
  return [limits.base];
}

/** The longest wait, in microseconds: ten minutes. */
const MAX_WAIT_MICROS = 600_000_000;

/** The option in milliseconds; undefined for no wait. Throws `HEADGATE_INVALID_OPTION`. */
export function readWaitOption(option: GuardOptions<never>["wait"]): number | undefined {
  if (option === undefined || option === false) return undefined;
  const wait = parseDuration(option, "wait", "HEADGATE_INVALID_OPTION");
  if (wait <= MAX_WAIT_MICROS) return toMilliseconds(wait);
  throw invalidValue("wait must be false, or from 1 ms to 10 minutes", option);
}
