import { HeadgateError } from "../base/errors.ts";

/** Throws `HEADGATE_WRONG_TYPE` when a step found something in a key that Headgate did not put there. */
export function rejectWrongType(reply: readonly number[], of: readonly { key: string }[]): void {
  if (reply[1] !== -1) return;
  throw new HeadgateError(
    "HEADGATE_WRONG_TYPE",
    "a key of this subject holds a value that is not Headgate's: give the store another prefix, or delete the key (the cause names it)",
    { cause: { keys: of.map(({ key }) => key) } },
  );
}
