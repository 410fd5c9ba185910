import type { ActionName } from "../../../src/api.ts";

/** What somebody did: a verb, the word between it and whom it was done to, and what follows that. */
export const DID: Readonly<
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
