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
  let given: Verdict | undefined;
  let goesOn: boolean;
  try {
    given = await verdict;
    const answered = answer(given);
    goesOn = isPromiseLike(answered) ? await answered : answered;
  } catch (reason) {
    conclude(given, false);
    next(toError(reason));
    return;
  }
  conclude(given, goesOn);
  if (goesOn) next();
}

function conclude(verdict: Verdict | undefined, passed: boolean): void {
  if (verdict?.kind === "denied") verdict.conclude?.(passed);
}
