import type { Limiter, LimiterOptions, Subjects } from "@headgate/core";
import { createLimiter } from "@headgate/core";
import {
  FAILURE_OPTIONS,
  formatReceived,
  internalsOf,
  invalidValue,
  isPlainObject,
  parseDuration,
  rejectUnknownOptions,
  toMilliseconds,
} from "@headgate/core/internal";
import type { DialectName } from "./dialects/dialect.ts";
import { DIALECTS } from "./dialects/dialects.ts";
import type {
  LimitFetchOptions,
  LimitInterceptorOptions,
  OutgoingOptions,
} from "./fetch-options.ts";

/** The options, checked, with their defaults. */
export interface OutgoingSettings extends Pick<OutgoingOptions, "key" | "dialects"> {
  readonly limiter: Limiter;
  readonly cost: NonNullable<OutgoingOptions["cost"]>;
  readonly retries: number;
  /** 0 for no wait. */
  readonly timeoutMs: number;
  readonly maxCooldownMs: number;
  /** The shortest `ttl` of its concurrency limits, in milliseconds, and at most that of a timer; undefined if it has none. */
  readonly slotTtlMs: number | undefined;
  /** The subject if the limiter only counts all requests together. */
  readonly globalSubject: Subjects | undefined;
}

const LIMITER_OPTIONS = [
  "name",
  "limits",
  "store",
  "extends",
  "maxQueue",
  "shadow",
  "blockOn",
  ...FAILURE_OPTIONS,
] as const satisfies readonly (keyof LimiterOptions)[];

const OPTIONS = [
  "limiter",
  ...LIMITER_OPTIONS,
  "key",
  "cost",
  "timeout",
  "retries",
  "maxCooldown",
  "dialects",
  "settle",
] as const satisfies readonly (keyof LimitInterceptorOptions)[];

/** Options of other throttles, and their equivalents here. */
const HINTS: Readonly<Record<string, string>> = {
  minTime: "limits: gcra({ limit, window })",
  maxConcurrent: "limits: concurrency({ limit, ttl })",
  reservoir: "limits: tokenBucket({ capacity, refill, every })",
  highWater: "maxQueue",
  weight: "cost",
  id: "key",
  retry: "retries",
  retryLimit: "retries",
  maxRetries: "retries",
  maxRetryAfter: "maxCooldown",
  onRateLimit: "the channel FETCH_CHANNELS.cooldown",
  onSecondaryRateLimit: "the channel FETCH_CHANNELS.cooldown",
};

const MAX_RETRIES = 100;

/** The longest delay of a timer, in milliseconds. */
export const MAX_TIMER_MS = 2_147_483_647;

/** Reads the options, and creates the limiter unless one is given. Throws `HEADGATE_INVALID_OPTION` and the errors of `createLimiter`. */
export function readOptions(
  owner: "limitFetch" | "limitInterceptor",
  options: LimitFetchOptions | LimitInterceptorOptions,
): OutgoingSettings {
  const known = owner === "limitFetch" ? [...OPTIONS, "fetch"] : OPTIONS;
  rejectUnknownOptions(owner, options, known, () => HINTS);
  const { key, cost = 1, retries = 3, timeout = "30s", maxCooldown = "1h" } = options;
  requireFunction(`${owner}: key`, key);
  requireFunction(`${owner}: settle`, options.settle);
  if (owner === "limitFetch")
    requireFunction("limitFetch: fetch", (options as LimitFetchOptions).fetch);
  if (!Number.isInteger(retries) || retries < 0 || retries > MAX_RETRIES) {
    throw invalidValue(
      `${owner}: retries must be a whole number from 0 to ${MAX_RETRIES}`,
      retries,
    );
  }
  const timeoutMs = timeout === 0 ? 0 : readMs(`${owner}: timeout`, timeout);
  const maxCooldownMs = readMs(`${owner}: maxCooldown`, maxCooldown);
  const dialects = readDialects(owner, options.dialects);
  const limiter = readLimiter(owner, options);
  const dimensions = [...new Set(limiter.limits.map(({ per }) => per))];
  const named = dimensions.filter((dimension) => dimension !== "global");
  try {
    requireCost(`${owner}: cost`, cost, limiter);
    requireKey(`${owner}: key`, key, named);
  } catch (error) {
    // Its name would stay taken.
    if (options.limiter === undefined) void limiter.close();
    throw error;
  }
  const ttls = internalsOf(limiter).policy.groups.flatMap(({ slotTtl }) => slotTtl ?? []);
  return {
    limiter,
    key,
    cost,
    retries,
    timeoutMs,
    maxCooldownMs,
    dialects,
    slotTtlMs:
      ttls.length === 0 ? undefined : Math.min(MAX_TIMER_MS, toMilliseconds(Math.min(...ttls))),
    globalSubject: named.length === 0 ? { global: "*" } : undefined,
  };
}

function requireKey(option: string, key: unknown, dimensions: readonly string[]): void {
  if (key !== undefined || dimensions.length <= 1) return;
  throw invalidValue(
    `${option} must be a function that returns the subjects of ${dimensions.join(", ")}`,
    key,
  );
}

/** The units that a function returns are checked by the limiter, for each call. */
function requireCost(option: string, cost: unknown, { limits }: Limiter): void {
  if (typeof cost === "function" || isUnits(cost)) return;
  if (!isPlainObject(cost)) {
    throw invalidValue(
      `${option} must be a whole number from 0 to 2^53 - 1, an object with one for each limit by its name, or a function`,
      cost,
    );
  }
  for (const [name, units] of Object.entries(cost)) {
    if (!limits.some((limit) => limit.name === name)) {
      const names = limits.map((limit) => formatReceived(limit.name)).join(", ");
      throw invalidValue(`${option} must name limits of the limiter, which are ${names}`, name);
    }
    if (!isUnits(units)) {
      throw invalidValue(
        `${option} of ${formatReceived(name)} must be a whole number from 0 to 2^53 - 1`,
        units,
      );
    }
  }
}

function isUnits(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function readLimiter(owner: string, options: OutgoingOptions): Limiter {
  const { limiter } = options;
  const given = LIMITER_OPTIONS.filter((option) => options[option] !== undefined);
  if (limiter === undefined) {
    if (options.limits === undefined) {
      throw invalidValue(`${owner}: limiter or limits is required`, undefined);
    }
    const own = Object.fromEntries(given.map((option) => [option, options[option]]));
    return createLimiter(own as unknown as LimiterOptions) as unknown as Limiter;
  }
  internalsOf(limiter);
  const [option] = given;
  if (option === undefined) return limiter;
  throw invalidValue(
    `${owner}: limiter replaces limits and their options; ${option} must be given where the limiter is created`,
    options[option],
  );
}

function readDialects(
  owner: string,
  dialects: readonly DialectName[] | undefined,
): readonly DialectName[] | undefined {
  if (dialects === undefined) return undefined;
  const names: readonly unknown[] = DIALECTS.map(({ name }) => name);
  if (Array.isArray(dialects) && dialects.every((name) => names.includes(name)))
    return [...dialects];
  throw invalidValue(
    `${owner}: dialects must be a list of ${names.map(formatReceived).join(", ")}`,
    dialects,
  );
}

function readMs(option: string, value: unknown): number {
  return toMilliseconds(parseDuration(value, option, "HEADGATE_INVALID_OPTION"));
}

function requireFunction(option: string, value: unknown): void {
  if (value !== undefined && typeof value !== "function") {
    throw invalidValue(`${option} must be a function`, value);
  }
}
