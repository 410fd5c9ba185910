import type { ActionOptions } from "@headgate/core/operate";
import type { Action } from "../api.ts";
import type { OrderedBreaker } from "../options.ts";
import type { Reading } from "../reading.ts";
import { actOnBreaker } from "./act-on-breaker.ts";
import { actOnDenyList } from "./act-on-deny-list.ts";
import { actOnOverride } from "./act-on-override.ts";
import { actOnSubject } from "./act-on-subject.ts";
import type { ShownState } from "./state.ts";

/** The result of an action, or of its preview. */
export interface Performed {
  /** In words, one per line. */
  readonly before: readonly string[];
  readonly after: readonly string[];
  readonly inForceAt: Date;
  /** The state before. */
  readonly state: ShownState;
}

/** The context of actions. */
export interface ActionContext {
  readonly reading: Reading;
  readonly createBreaker: ((options: never) => OrderedBreaker) | undefined;
}

/** Performs an action or, with `dryRun`, determines what it would change. Rejects with a `Refusal`, and like `Admin`. */
export function perform(
  place: ActionContext,
  action: Action,
  options: ActionOptions,
): Promise<Performed> {
  switch (action.kind) {
    case "block":
    case "unblock":
    case "reset":
    case "forget":
      return actOnSubject(place.reading, action, options);
    case "setOverride":
    case "unsetOverride":
      return actOnOverride(place.reading, action, options);
    case "addToDenyList":
    case "removeFromDenyList":
      return actOnDenyList(place.reading, action, options);
    case "breaker":
      return actOnBreaker(place, action, options);
  }
}
