import type { Budget, Dialect, ProviderAnswer } from "./dialect.ts";
import { DIALECTS } from "./dialects.ts";

/** The largest body that is read, in bytes. */
export const MAX_BODY_BYTES = 1_048_576;

/** The longest time for which a body is read before the application gets its response, in milliseconds. */
export const MAX_BODY_MS = 10_000;

/** The part of a request and its answer that decides whether the body is read. */
export interface AnswerWithBody {
  readonly status: number;
  readonly path: string;
  readonly contentType: string | undefined;
}

/**
 * Whether the body says more about the provider's limits, in one of these dialects, or any if undefined: it is that of a refusal without a time (GitHub's secondary limits), or of
 * a GraphQL API of Shopify, which reports the cost of a query in its body, and answers 200 to one that it throttled.
 */
export function needsBody(
  { status, path, contentType = "" }: AnswerWithBody,
  answer: ProviderAnswer,
  dialects?: readonly string[],
): boolean {
  if (!/^application\/(?:[\w.+-]{1,64}\+)?json\b/i.test(contentType)) return false;
  if (status === 200) {
    return path.endsWith("/graphql.json") && dialects?.includes("shopify") !== false;
  }
  const rule = dialectOf(answer)?.alsoLimits;
  if (rule === undefined || answer.waitMs !== undefined) return false;
  return answer.isLimited || status === rule.status;
}

function dialectOf({ dialect }: ProviderAnswer): Dialect | undefined {
  return DIALECTS.find(({ name }) => name === dialect);
}

/** Adds what a body says to what the headers of its answer say. Never throws. */
export function readBody(text: string, answer: ProviderAnswer): ProviderAnswer {
  const rule = dialectOf(answer)?.alsoLimits;
  if (rule !== undefined) {
    return rule.body.test(text) ? { ...answer, isLimited: true, waitMs: rule.waitMs } : answer;
  }
  const cost = parseGraphqlCost(text);
  if (cost === undefined) return answer;
  const { requested, available, maximum, restoreRate, isThrottled } = cost;
  const budget: Budget = {
    unit: "points",
    bucket: undefined,
    limit: Math.floor(maximum),
    remaining: Math.floor(available),
    resetMs: undefined,
    windowMs: undefined,
  };
  const missing = Math.max(0, Math.min(requested, maximum) - available);
  const waitMs = restoreRate > 0 ? Math.ceil((missing / restoreRate) * 1_000) : undefined;
  return {
    ...answer,
    dialect: "shopify",
    budgets: [budget],
    isLimited: isThrottled || answer.isLimited,
    waitMs: isThrottled ? waitMs : answer.waitMs,
  };
}

interface GraphqlCost {
  readonly requested: number;
  readonly available: number;
  readonly maximum: number;
  /** Points per second. */
  readonly restoreRate: number;
  readonly isThrottled: boolean;
}

/**
 * The cost in `extensions` of an answer of Shopify, and whether an error says `THROTTLED`:
 * https://shopify.dev/docs/api/usage/limits
 */
function parseGraphqlCost(text: string): GraphqlCost | undefined {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return undefined;
  }
  const cost = property(property(body, "extensions"), "cost");
  const status = property(cost, "throttleStatus");
  const requested = count(property(cost, "requestedQueryCost"));
  const maximum = count(property(status, "maximumAvailable"));
  const available = count(property(status, "currentlyAvailable"));
  const restoreRate = count(property(status, "restoreRate"));
  if (
    requested === undefined ||
    maximum === undefined ||
    available === undefined ||
    restoreRate === undefined
  ) {
    return undefined;
  }
  const errors = property(body, "errors");
  const isThrottled =
    Array.isArray(errors) &&
    errors.some((error) => property(property(error, "extensions"), "code") === "THROTTLED");
  return { requested, maximum, available, restoreRate, isThrottled };
}

function property(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Readonly<Record<string, unknown>>)[name];
}

function count(value: unknown): number | undefined {
  const isCount = typeof value === "number" && value >= 0 && value <= Number.MAX_SAFE_INTEGER;
  return isCount ? value : undefined;
}
