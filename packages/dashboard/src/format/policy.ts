import type { Limit } from "@headgate/core";
import type {
  FormatLimitOptions,
  HttpUse,
  RegistryPolicy,
  SubjectSource,
} from "@headgate/core/admin";
import { formatBreakerOptions, formatLimit } from "@headgate/core/admin";
import { formatDuration, formatPer } from "./time.ts";

const LONG_WORDING: FormatLimitOptions = {
  formatDuration,
  formatWindow: formatPer,
  defaultSuffix: " for each client",
};

/** A limit as text: `login: 5 per 15 minutes for each account, blocks for 1 hour (slidingLog)`. */
export function describeLimit(limit: Limit): string {
  return formatLimit(limit, LONG_WORDING);
}

/** The numbers of a limit that an override may replace. */
export function overridableNumbers(limit: Limit): Readonly<Record<string, number>> {
  if (limit.algorithm === "tokenBucket") return { capacity: limit.capacity, refill: limit.refill };
  if (limit.algorithm !== "gcra") return { limit: limit.limit };
  return limit.burst === undefined
    ? { limit: limit.limit }
    : { limit: limit.limit, burst: limit.burst };
}

/** A breaker's policy as text: `opens below 50 % success of at least 20 calls in 5 minutes, for 30 seconds; 5 trial calls`. */
export function describeBreaker(options: Readonly<Record<string, unknown>>): string {
  return formatBreakerOptions(options, LONG_WORDING);
}

/** How an adapter counts requests: `express, by address (IPv6 by /64); without a key: by address`. */
export function formatHttpUse({ adapter, keys, missingKey, addressHeader }: HttpUse): string {
  const entries = Object.entries(keys).map(([dimension, source]) =>
    dimension === "default"
      ? formatSubjectSource(source)
      : `${dimension} ${formatSubjectSource(source)}`,
  );
  const by = entries.length === 0 ? "all clients together" : entries.join(", ");
  const header = addressHeader === undefined ? "" : `; the address is in ${addressHeader}`;
  return `${adapter}: ${by}; without a key: ${MISSING_KEY[missingKey] ?? missingKey}${header}`;
}

const MISSING_KEY: Readonly<Record<string, string>> = {
  ip: "by address",
  reject: "refused",
  skip: "not counted",
};

/** The source of a subject as text. */
export function formatSubjectSource(source: SubjectSource): string {
  switch (source.by) {
    case "ip":
      return source.ipv4Prefix === undefined
        ? `by address (IPv6 by /${source.ipv6Prefix})`
        : `by address (IPv4 by /${source.ipv4Prefix}, IPv6 by /${source.ipv6Prefix})`;
    case "header":
      return `by the header ${source.name}`;
    case "combined":
      return source.keys.map(formatSubjectSource).join(" with ");
    default:
      return "by a function of the application";
  }
}

/** The limits of a listed policy with their names. Only the shapes of the policy have the default names. */
export function namedLimitsOf({
  limits,
  shapes,
}: RegistryPolicy): readonly (readonly [name: string, limit: Limit])[] {
  const names = new Map(shapes.map(({ per, limits: own }) => [per, [...own]]));
  return limits.map((limit) => {
    const listed = names.get(limit.per ?? "default")?.shift();
    return [limit.name ?? listed ?? "", limit];
  });
}
