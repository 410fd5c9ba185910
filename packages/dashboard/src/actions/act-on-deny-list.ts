import type { ActionOptions, DeniedNetwork } from "@headgate/core/operate";
import type { Action } from "../api.ts";
import { endMs, formatEnd } from "../format/time.ts";
import type { Reading } from "../reading.ts";
import type { Performed } from "./perform.ts";
import { stateOf } from "./state.ts";

type DenyListAction = Extract<Action, { kind: "addToDenyList" | "removeFromDenyList" }>;

/** Adds a network to the deny list of the prefix, or removes it. */
export async function actOnDenyList(
  { operator: admin }: Reading,
  action: DenyListAction,
  options: ActionOptions,
): Promise<Performed> {
  const { before, after, inForceAt } = await act(admin, action, options);
  return {
    before: [describe(before)],
    after: [describe(after)],
    inForceAt,
    state: stateOf(before),
  };
}

function act(admin: Reading["operator"], action: DenyListAction, options: ActionOptions) {
  if (action.kind === "removeFromDenyList") {
    return admin.removeFromDenyList(action.network, options);
  }
  const { network, forMs } = action;
  return admin.addToDenyList(network, {
    ...options,
    for: forMs === null ? "forever" : `${forMs}ms`,
  });
}

function describe(entry: DeniedNetwork | undefined): string {
  if (entry === undefined) return "not on the deny list";
  return `${entry.network}: 403 in every HTTP limiter, ${formatEnd(endMs(entry.until))}`;
}
