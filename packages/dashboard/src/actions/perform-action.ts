import type { ActionOptions } from "@headgate/core/admin";
import type { Action } from "../api.ts";
import type { FleetReader } from "../fleet-reader.ts";
import type { BreakerLike } from "../options.ts";
import { actOnBreaker } from "./act-on-breaker.ts";
import { actOnDenyList } from "./act-on-deny-list.ts";
import { actOnOverride } from "./act-on-override.ts";
import { actOnSubject } from "./act-on-subject.ts";
import type { PreviewedState } from "./previewed-state.ts";

/** The result of an action, or of its preview. */
export interface ActionOutcome {
  /** The states as text, one line each. */
  readonly before: readonly string[];
  readonly after: readonly string[];
  readonly effectiveAt: Date;
  /** The state before. */
  readonly state: PreviewedState;
}

/** The context of actions. */
export interface ActionContext {
  readonly reader: FleetReader;
  readonly createBreaker: ((options: never) => BreakerLike) | undefined;
}

/** Performs an action or, with `dryRun`, determines its effect. Rejects with an `HttpError` or an error of the store. */
export function performAction(
  context: ActionContext,
  action: Action,
  options: ActionOptions,
): Promise<ActionOutcome> {
  switch (action.kind) {
    case "block":
    case "unblock":
    case "reset":
    case "forget":
      return actOnSubject(context.reader, action, options);
    case "setOverride":
    case "unsetOverride":
      return actOnOverride(context.reader, action, options);
    case "addToDenyList":
    case "removeFromDenyList":
      return actOnDenyList(context.reader, action, options);
    case "breaker":
      return actOnBreaker(context, action, options);
  }
}
