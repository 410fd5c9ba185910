import { codeOf, formatReceived, HeadgateError } from "../common/errors.ts";
import type { BlockOn, Limit, LimitDescription, Policy } from "../common/policy.ts";
import type { CompiledLimit } from "./algorithm.ts";
import { compileLimit } from "./compile-limit.ts";

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
