import { isPromiseLike } from "./is-promise-like.ts";
import { toError } from "./to-error.ts";
import type { Verdict } from "./verdict.ts";

/**
 * Ends what an adapter does with a request: `answer` puts the verdict on the response, and says now or later whether the
 * request goes on. Then `next` is called without anything, or with what went wrong, as an error; never twice.
 */
export async function settle(
  verdict: Promise<Verdict>,
  answer: (verdict: Verdict) => boolean | Promise<boolean>,
  next: (error?: Error) => void,
): Promise<void> {
  let goesOn: boolean;
  try {
    const answered = answer(await verdict);
    goesOn = isPromiseLike(answered) ? await answered : answered;
  } catch (reason) {
    next(toError(reason));
    return;
  }
  if (goesOn) next();
}
