import { HeadgateError } from "../common/errors.ts";

/** Throws `HEADGATE_WRONG_TYPE` if a reply reports that a counter's key holds a value that Headgate did not write. */
export function rejectWrongType(
  reply: readonly number[],
  counters: readonly { key: string }[],
): void {
  if (reply[1] !== -1) return;
  throw new HeadgateError(
    "HEADGATE_WRONG_TYPE",
    "a key of this subject holds a value that is not Headgate's: give the store another prefix, or delete the key (the cause names it)",
    { cause: { keys: counters.map(({ key }) => key) } },
  );
}
