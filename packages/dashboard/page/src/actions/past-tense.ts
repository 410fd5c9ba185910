import type { ActionName } from "../../../src/api.ts";

/** An action in the past tense: a verb, the preposition before its subject, and the rest of the phrase. */
export const PAST_TENSE: Readonly<
  Record<ActionName, readonly [verb: string, of?: string, after?: string]>
> = {
  block: ["blocked"],
  unblock: ["unblocked"],
  reset: ["reset"],
  forget: ["forgot"],
  setOverride: ["set an override", "for"],
  unsetOverride: ["removed the override", "for"],
  addToDenyList: ["added", "", "to the deny list"],
  removeFromDenyList: ["removed", "", "from the deny list"],
  breaker: ["gave an order", "to"],
};
