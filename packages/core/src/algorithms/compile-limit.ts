import { formatReceived, HeadgateError } from "../errors.ts";
import type { BlockOn, Limit } from "../policy.ts";
import type { CompiledLimit } from "./algorithm.ts";
import { compileConcurrency } from "./concurrency.ts";
import { compileFixedWindow } from "./fixed-window.ts";
import { compileGcra } from "./gcra.ts";
import { withKept } from "./kept-units.ts";
import { withBlock } from "./read-block.ts";
import { compileSlidingLog } from "./sliding-log.ts";
import { compileSlidingWindow } from "./sliding-window.ts";
import { compileTokenBucket } from "./token-bucket.ts";

const COMPILERS: Record<Limit["algorithm"], (limit: never) => CompiledLimit> = {
  gcra: compileGcra,
  tokenBucket: compileTokenBucket,
  fixedWindow: compileFixedWindow,
  slidingWindow: compileSlidingWindow,
  slidingLog: compileSlidingLog,
  concurrency: compileConcurrency,
};

/**
 * Validates a limit and makes it ready to be decided. Throws `HEADGATE_INVALID_LIMIT`, and `HEADGATE_INVALID_OPTION` if it cannot
 * block in this way.
 */
export function compileLimit(limit: Limit, blockOn: BlockOn = "denial"): CompiledLimit {
  const algorithm: unknown = limit?.algorithm;
  if (typeof algorithm !== "string" || !Object.hasOwn(COMPILERS, algorithm)) rejectForm(limit);
  const compiled = withBlock(limit, COMPILERS[limit.algorithm](limit as never));
  const { block, shape } = compiled;
  if (block === undefined || shape.countsDenials || blockOn !== "settle") return compiled;
  return withKept(compiled);
}

/** A limit with other numbers, which blocks in the same way. Throws as `compileLimit`. */
export function compileLike({ shape }: CompiledLimit, limit: Limit): CompiledLimit {
  return compileLimit(limit, shape.keeps ? "settle" : "denial");
}

/** Throws `HEADGATE_INVALID_LIMIT` for a value that is not a limit. */
export function rejectForm(limit: unknown): never {
  throw new HeadgateError(
    "HEADGATE_INVALID_LIMIT",
    `a limit must be a plain object whose algorithm is one of ${Object.keys(COMPILERS).join(", ")}; got ${formatReceived(limit)}`,
  );
}
