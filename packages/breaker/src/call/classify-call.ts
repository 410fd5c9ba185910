import { formatKind, invalidValue } from "@headgate/core/internal";
import type { Settings } from "../breaker-options.ts";
import type { Ending } from "./made-call.ts";

const ABORTED = { ignore: -1, success: 0, failure: 1 } as const;

/** How a call counts: 0 a success, 1 a failure, -1 if it says nothing about the target. Throws what `isFailure` throws. */
export function classifyCall<Result>(
  ending: Ending<Result>,
  { aborted, isFailure }: Settings<Result>,
): 0 | 1 | -1 {
  if (ending.how === "timeout") return 1;
  if (ending.how === "aborted") return ABORTED[aborted];
  if (isFailure === undefined) return ending.how === "threw" ? 1 : 0;
  const verdict: unknown = isFailure(
    ending.how === "threw"
      ? { status: "rejected", reason: ending.error }
      : { status: "fulfilled", value: ending.result },
  );
  if (verdict === "ignore") return -1;
  if (typeof verdict === "boolean") return verdict ? 1 : 0;
  // A promise, which an async function returns, would make every call a failure.
  throw invalidValue('isFailure must return true, false or "ignore"', verdict, formatKind);
}
