import { isPromiseLike } from "./is-promise-like.ts";
import { toError } from "./to-error.ts";
import type { Verdict } from "./verdict.ts";

/**
 * The last step of an adapter: `answer` puts the verdict on the response, and returns, now or later, whether the
 * request goes on. Then `next` is called, without an argument or with an error; never twice.
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
