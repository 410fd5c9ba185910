import { HeadgateError } from "../../base/errors.ts";
import { OTHER_FORMAT, TOO_LONG, WRONG_TYPE } from "../directory/refusal.ts";
import { USAGE_STATES } from "./steps.ts";

/** The error for a server that takes longer to answer than the clocks may differ. */
export function tooLate(): HeadgateError {
  return new HeadgateError("HEADGATE_STORE_UNAVAILABLE", "the store answered too late");
}

/** Throws `HEADGATE_USAGE_REFUSED` if the state says that the key holds something else. */
export function requireKept(state: number | undefined): void {
  if (state === USAGE_STATES.otherFormat) {
    throw new HeadgateError("HEADGATE_USAGE_REFUSED", OTHER_FORMAT);
  }
  if (state === USAGE_STATES.tooLong) {
    throw new HeadgateError("HEADGATE_USAGE_REFUSED", TOO_LONG);
  }
  if (state === USAGE_STATES.wrongType) {
    throw new HeadgateError("HEADGATE_USAGE_REFUSED", WRONG_TYPE);
  }
}
