import type { ActionOptions, DeniedNetwork } from "@headgate/core/admin";
import type { Action } from "../api.ts";
import type { FleetReader } from "../fleet-reader.ts";
import { endMs, formatEnd } from "../format/time.ts";
import type { ActionOutcome } from "./perform-action.ts";
import { stateOf } from "./previewed-state.ts";

type DenyListAction = Extract<Action, { kind: "addToDenyList" | "removeFromDenyList" }>;

/** Adds a network to the deny list of the prefix, or removes it. */
export async function actOnDenyList(
  { operator: admin }: FleetReader,
  action: DenyListAction,
  options: ActionOptions,
): Promise<ActionOutcome> {
  const { before, after, effectiveAt } = await act(admin, action, options);
  return {
    before: [formatEntry(before)],
    after: [formatEntry(after)],
    effectiveAt,
    state: stateOf(before),
  };
}

function act(admin: FleetReader["operator"], action: DenyListAction, options: ActionOptions) {
  if (action.kind === "removeFromDenyList") {
    return admin.removeFromDenyList(action.network, options);
  }
  const { network, forMs } = action;
  return admin.addToDenyList(network, {
    ...options,
    for: forMs === null ? "forever" : `${forMs}ms`,
  });
}

function formatEntry(entry: DeniedNetwork | undefined): string {
  if (entry === undefined) return "not on the deny list";
  return `${entry.network}: 403 in every HTTP limiter, ${formatEnd(endMs(entry.until))}`;
}
