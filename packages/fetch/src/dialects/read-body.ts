import type { Budget, Dialect, ProviderAnswer } from "./dialect.ts";
import { DIALECTS } from "./dialects.ts";
import { windowEndOf } from "./read-answer.ts";

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
 * Whether the body says more about the provider's limits. It does if it is that of a refusal without a time (GitHub's secondary
 * limits), or of the GraphQL API of GitHub or Shopify, which answer 200 to a query that was limited; Shopify also reports its cost.
 * `dialects` are those that are read; all if undefined.
 */
export function needsBody(
  { status, path, contentType = "" }: AnswerWithBody,
  answer: ProviderAnswer,
  dialects?: readonly string[],
): boolean {
  if (!/^application\/(?:[\w.+-]{1,64}\+)?json\b/i.test(contentType)) return false;
  const rule = dialectOf(answer)?.alsoLimits;
  if (rule !== undefined) {
    if (status === 200) return path.endsWith(rule.graphqlPath);
    return answer.waitMs === undefined && (answer.isLimited || status === rule.status);
  }
  return (
    status === 200 && path.endsWith("/graphql.json") && dialects?.includes("shopify") !== false
  );
}

function dialectOf({ dialect }: ProviderAnswer): Dialect | undefined {
  return DIALECTS.find(({ name }) => name === dialect);
}

/** Adds what a body says to what the head of its answer says, whose status it gets, too. Never throws. */
export function readBody(text: string, answer: ProviderAnswer, status: number): ProviderAnswer {
  const dialect = dialectOf(answer);
  const rule = dialect?.alsoLimits;
  if (rule !== undefined) {
    const isLimited =
      status === 200 ? hasGraphqlError(text, rule.graphqlErrors) : rule.body.test(text);
    if (!isLimited) return answer;
    return { ...answer, isLimited, waitMs: windowEndOf(dialect, answer.budgets) ?? rule.waitMs };
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
  const body = parseJson(text);
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
  const isThrottled = errorsOf(body).some(
    (error) => property(property(error, "extensions"), "code") === "THROTTLED",
  );
  return { requested, maximum, available, restoreRate, isThrottled };
}

/** Whether an error of a GraphQL answer has one of these types. */
function hasGraphqlError(text: string, types: readonly unknown[]): boolean {
  return errorsOf(parseJson(text)).some((error) => types.includes(property(error, "type")));
}

function errorsOf(body: unknown): readonly unknown[] {
  const errors = property(body, "errors");
  return Array.isArray(errors) ? errors : [];
}

/** Undefined for what is not JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function property(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Readonly<Record<string, unknown>>)[name];
}

function count(value: unknown): number | undefined {
  const isCount = typeof value === "number" && value >= 0 && value <= Number.MAX_SAFE_INTEGER;
  return isCount ? value : undefined;
}
