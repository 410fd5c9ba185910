import { codeOf, formatReceived, HeadgateError } from "../common/errors.ts";
import type { BlockOn, Limit, LimitDescription, Policy } from "../common/policy.ts";
import { DEFAULT_DIMENSION } from "../common/policy.ts";
import { isPlainObject } from "../common/type-guards.ts";
import type { CompiledAlgorithm, CompiledLimit } from "./algorithm.ts";
import { withBlock } from "./blocks.ts";
import { compileConcurrency } from "./concurrency.ts";
import { compileFixedWindow } from "./fixed-window.ts";
import { compileGcra } from "./gcra.ts";
import { compileSlidingLog } from "./sliding-log.ts";
import { compileSlidingWindow } from "./sliding-window.ts";
import { withThresholds } from "./thresholds.ts";
import { compileTokenBucket } from "./token-bucket.ts";

/** The most limits in one policy. They share one script, which grows with each limit. */
const MAX_LIMITS = 100;

/** Validates a policy and compiles its limits, in the configured order. Throws like `compileLimit`. */
export function compilePolicy(policy: Policy, blockOn?: BlockOn): CompiledLimit[] {
  const limits = mapLimits(policy, (limit) => compileLimit(limit as Limit, blockOn));
  rejectDuplicateNames(limits);
  return limits;
}

/** Applies `read` to a limit, or to each limit of a list. Errors in a list name the position. Throws `HEADGATE_INVALID_LIMIT`. */
export function mapLimits<T>(policy: unknown, read: (limit: unknown) => T): T[] {
  if (!Array.isArray(policy)) return [read(policy)];
  if (policy.length === 0) throw invalid("limits must hold at least one limit, got []");
  if (policy.length > MAX_LIMITS) {
    throw invalid(`limits must hold at most ${MAX_LIMITS} limits, got ${policy.length}`);
  }
  // By index, so that a hole in the list is an error too.
  return Array.from({ length: policy.length }, (_, i) => {
    try {
      return read(policy[i]);
    } catch (error) {
      if (codeOf(error) !== "HEADGATE_INVALID_LIMIT") throw error;
      throw invalid(`limits[${i}]: ${(error as HeadgateError).message}`);
    }
  });
}

function rejectDuplicateNames(limits: readonly LimitDescription[]): void {
  const seen = new Map<string, number>();
  for (const [i, { name, per }] of limits.entries()) {
    const id = `${per}=${name}`;
    const duplicate = seen.get(id);
    if (duplicate !== undefined) {
      throw invalid(
        `limits[${duplicate}] and limits[${i}], both per ${formatReceived(per)}, are named ${formatReceived(name)}; give each a name of its own`,
      );
    }
    seen.set(id, i);
  }
}

function invalid(message: string): HeadgateError {
  return new HeadgateError("HEADGATE_INVALID_LIMIT", message);
}

const COMPILERS: Record<Limit["algorithm"], (limit: never) => CompiledAlgorithm> = {
  gcra: compileGcra,
  tokenBucket: compileTokenBucket,
  fixedWindow: compileFixedWindow,
  slidingWindow: compileSlidingWindow,
  slidingLog: compileSlidingLog,
  concurrency: compileConcurrency,
};

/**
 * Validates and compiles a limit. Throws `HEADGATE_INVALID_LIMIT`, and `HEADGATE_INVALID_OPTION` if it cannot block in this
 * way.
 */
export function compileLimit(limit: Limit, blockOn: BlockOn = "denial"): CompiledLimit {
  const algorithm: unknown = limit?.algorithm;
  if (typeof algorithm !== "string" || !Object.hasOwn(COMPILERS, algorithm)) rejectNonLimit(limit);
  const own = COMPILERS[limit.algorithm](limit as never);
  const { name = own.name, per = DEFAULT_DIMENSION } = limit;
  return withThresholds(limit, withBlock(limit, { ...own, name, per, source: limit }, blockOn));
}

/** Compiles a changed limit that blocks on the same event as a compiled one. Throws like `compileLimit`. */
export function recompileLimit({ shape }: CompiledLimit, limit: Limit): CompiledLimit {
  return compileLimit(limit, shape.blocksOnSettle ? "settle" : "denial");
}

/** Throws `HEADGATE_INVALID_LIMIT` for a value that is not a limit. */
export function rejectNonLimit(limit: unknown): never {
  if (typeof limit === "object" && limit !== null && ("limitsOf" in limit || "tiers" in limit)) {
    throw invalid(
      "perRequest(...) and byTier(...) are for the limits of an HTTP adapter, which has a request to pass to their function; elsewhere, create the limiter with limits of its own, and pass those of a call with it: limiter.consume(subject, { limits })",
    );
  }
  throw invalid(
    `a limit must be a plain object whose algorithm is one of ${Object.keys(COMPILERS).join(", ")}; got ${formatReceived(limit)}`,
  );
}

/**
 * Reads a policy that comes from a file, a database or the environment: a limit, or a list of 1 to 100, as plain data. Returns
 * a checked copy, which later changes to `value` do not affect.
 *
 * Throws `HEADGATE_INVALID_LIMIT`, whose message says what is wrong and where in the list: `limits[1]: gcra: unknown option
 * "max"...`.
 */
export function readPolicy(value: unknown): Policy {
  const limits = mapLimits(value, copyLimit);
  const policy = Array.isArray(value) ? limits : (limits[0] as Limit);
  compilePolicy(policy);
  return policy;
}

/** Copies own data properties only and calls no getter. */
function copyLimit(value: unknown): Limit {
  if (!isPlainObject(value)) rejectNonLimit(value);
  return copyPlain(value, copyValue) as unknown as Limit;
}

function copyPlain(value: object, copy: (value: unknown) => unknown): object {
  const properties = Reflect.ownKeys(value).map((key): [string, unknown] => {
    const property = Object.getOwnPropertyDescriptor(value, key);
    const isPlain = property?.enumerable && "value" in property;
    if (isPlain && typeof key === "string") return [key, copy(property.value)];
    throw invalid(
      `a limit must be plain data, but its property ${formatReceived(String(key))} is a getter, hidden or a symbol`,
    );
  });
  return Object.fromEntries(properties);
}

/** The values in a valid limit are primitives, lists of primitives, and, for `block`, an object of those. */
function copyValue(value: unknown): unknown {
  return isPlainObject(value) ? copyPlain(value, copyList) : copyList(value);
}

function copyList(value: unknown): unknown {
  return Array.isArray(value) ? [...value] : value;
}
