import { formatReceived, HeadgateError } from "../common/errors.ts";
import type { BlockOn, Limit } from "../common/policy.ts";
import { DEFAULT_DIMENSION } from "../common/policy.ts";
import type { CompiledAlgorithm, CompiledLimit } from "./algorithm.ts";
import { withBlock } from "./blocks.ts";
import { compileConcurrency } from "./concurrency.ts";
import { compileFixedWindow } from "./fixed-window.ts";
import { compileGcra } from "./gcra.ts";
import { compileSlidingLog } from "./sliding-log.ts";
import { compileSlidingWindow } from "./sliding-window.ts";
import { withThresholds } from "./thresholds.ts";
import { compileTokenBucket } from "./token-bucket.ts";

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
    throw new HeadgateError(
      "HEADGATE_INVALID_LIMIT",
      "perRequest(...) and byTier(...) are for the limits of an HTTP adapter, which has a request to pass to their function; elsewhere, create the limiter with limits of its own, and pass those of a call with it: limiter.consume(subject, { limits })",
    );
  }
  throw new HeadgateError(
    "HEADGATE_INVALID_LIMIT",
    `a limit must be a plain object whose algorithm is one of ${Object.keys(COMPILERS).join(", ")}; got ${formatReceived(limit)}`,
  );
}
