import type { ActionOptions, BreakerOrderState } from "@headgate/core/admin";
import { previewOrder } from "@headgate/core/admin";
import type { Action } from "../api.ts";
import {
  createControlBreaker,
  findBreakerOptions,
  readTarget,
  unknownBreaker,
} from "../breakers.ts";
import { pluralize } from "../format/count.ts";
import type { BreakerTargetLike, TargetSnapshot } from "../options.ts";
import type { ActionContext, ActionOutcome } from "./perform-action.ts";
import { stateOf } from "./previewed-state.ts";

type BreakerAction = Extract<Action, { kind: "breaker" }>;

/** Processes refresh the state of a target every second. */
const TARGET_REFRESH_MS = 1_000;

/** Each order, with the state that it sets. */
const ORDERS = {
  open: { give: (target) => target.forceOpen(), state: "forced-open" },
  close: { give: (target) => target.disable(), state: "disabled" },
  reset: { give: (target) => target.reset(), state: "closed" },
} as const satisfies Readonly<
  Record<
    BreakerAction["order"],
    { give(target: BreakerTargetLike): Promise<void>; state: BreakerOrderState }
  >
>;

/** Gives an order to a target of a breaker. It stays in force until `reset`. */
export async function actOnBreaker(
  { reader, createBreaker }: ActionContext,
  { breaker: name, target, order }: BreakerAction,
  { dryRun, reason, by }: ActionOptions,
): Promise<ActionOutcome> {
  if (createBreaker === undefined) throw unknownBreaker();
  const { operator: admin } = reader;
  const breaker = createControlBreaker(
    reader,
    createBreaker,
    await findBreakerOptions(reader, name),
    name,
  );
  try {
    const controlled = breaker.for(target);
    const before = await readTarget(controlled);
    const { give, state } = ORDERS[order];
    let after = previewOrder(before, state);
    // Logged first: if Redis becomes unavailable in between, the operator can repeat the logged order, and no order is in force without an entry.
    const at = await admin.logBreakerAction(
      { breaker: name, target: controlled.target, before, after },
      { reason, by, dryRun },
    );
    if (dryRun !== true) {
      await give(controlled);
      after = await readTarget(controlled);
    }
    return {
      before: [formatTarget(before)],
      after: [after.state],
      effectiveAt: new Date(at.getTime() + TARGET_REFRESH_MS),
      state: stateOf(before.state),
    };
  } finally {
    await breaker.close();
  }
}

function formatTarget({ state, calls, successRate }: TargetSnapshot): string {
  const rate = successRate === null ? "" : `, ${Math.floor(successRate * 1_000) / 10}% succeeded`;
  return `${state}, ${pluralize(calls, "call")}${rate}`;
}
