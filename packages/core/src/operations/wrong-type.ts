import { HeadgateError } from "../common/errors.ts";

/** The error of a call that did nothing, because one of its keys holds a value that Headgate did not write. */
export function wrongTypeError(counters: readonly { readonly key: string }[]): HeadgateError {
  return new HeadgateError(
    "HEADGATE_WRONG_TYPE",
    "a key of this subject holds a value that is not Headgate's: give the store another prefix, or delete the key (the cause names it)",
    { cause: { keys: counters.map(({ key }) => key) } },
  );
}

/** Throws `HEADGATE_WRONG_TYPE` if the integers of a script, after its clock, begin with -1: then it did nothing. */
export function rejectWrongType(
  reply: readonly number[],
  counters: readonly { readonly key: string }[],
): void {
  if (reply[1] === -1) throw wrongTypeError(counters);
}
