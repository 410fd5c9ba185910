import { formatKind, invalidValue } from "@headgate/core/internal";
import type { Settings } from "../breaker-options.ts";
import type { Outcome } from "../snapshot.ts";
import type { CallResult } from "./make-call.ts";

/** How a call counts. Throws what `isFailure` throws. */
export function classifyCall<Result>(
  result: CallResult<Result>,
  { abortOutcome, isFailure }: Settings<Result>,
): Outcome | "ignore" {
  if (result.how === "timeout") return "failure";
  if (result.how === "aborted") return abortOutcome;
  if (isFailure === undefined) return result.how === "threw" ? "failure" : "success";
  const verdict: unknown = isFailure(
    result.how === "threw"
      ? { status: "rejected", reason: result.error }
      : { status: "fulfilled", value: result.result },
  );
  if (verdict === "ignore") return "ignore";
  if (typeof verdict === "boolean") return verdict ? "failure" : "success";
  // A promise, which an async function returns, would make every call a failure.
  throw invalidValue('isFailure must return true, false or "ignore"', verdict, formatKind);
}
