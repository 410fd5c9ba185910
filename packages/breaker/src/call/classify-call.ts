import { formatKind, invalidValue } from "@headgate/core/internal";
import type { Settings } from "../breaker-options.ts";
import type { CallResult } from "./make-call.ts";

const ABORTED = { ignore: -1, success: 0, failure: 1 } as const;

/** How a call counts: 0 a success, 1 a failure, -1 if it says nothing about the target. Throws what `isFailure` throws. */
export function classifyCall<Result>(
  result: CallResult<Result>,
  { aborted, isFailure }: Settings<Result>,
): 0 | 1 | -1 {
  if (result.how === "timeout") return 1;
  if (result.how === "aborted") return ABORTED[aborted];
  if (isFailure === undefined) return result.how === "threw" ? 1 : 0;
  const verdict: unknown = isFailure(
    result.how === "threw"
      ? { status: "rejected", reason: result.error }
      : { status: "fulfilled", value: result.result },
  );
  if (verdict === "ignore") return -1;
  if (typeof verdict === "boolean") return verdict ? 1 : 0;
  // A promise, which an async function returns, would make every call a failure.
  throw invalidValue('isFailure must return true, false or "ignore"', verdict, formatKind);
}
