import type { ActionOptions, BreakerOrderState } from "@headgate/core/operate";
import { previewOrder } from "@headgate/core/operate";
import type { Action } from "../api.ts";
import { findOptions, look, openBreaker, unknownBreaker } from "../breakers.ts";
import type { OrderedTarget, TargetSnapshot } from "../options.ts";
import type { ActionContext, Performed } from "./perform.ts";
import { stateOf } from "./state.ts";

type BreakerAction = Extract<Action, { kind: "breaker" }>;

/** Processes look at a target again after a second. */
const LOOK_AGAIN_MS = 1_000;

/** Each order, and the state that it leads to. */
const ORDERS = {
  open: { give: (target) => target.forceOpen(), state: "forced-open" },
  close: { give: (target) => target.disable(), state: "disabled" },
  reset: { give: (target) => target.reset(), state: "closed" },
} as const satisfies Readonly<
  Record<
    BreakerAction["order"],
    { give(target: OrderedTarget): Promise<void>; state: BreakerOrderState }
  >
>;

/** Gives an order to a target of a breaker. It stays in force until `reset`. */
export async function actOnBreaker(
  { reading, createBreaker }: ActionContext,
  { breaker: name, target, order }: BreakerAction,
  { dryRun, reason, by }: ActionOptions,
): Promise<Performed> {
  if (createBreaker === undefined) throw unknownBreaker();
  const { operator: admin } = reading;
  const breaker = openBreaker(reading, createBreaker, await findOptions(reading, name), name);
  try {
    const own = breaker.for(target);
    const before = await look(own);
    const { give, state } = ORDERS[order];
    let after = previewOrder(before, state);
    // Before the order: if Redis goes away in between, the log has one to repeat, and no order is in force without an entry.
    const at = await admin.logBreakerAction(
      { breaker: name, target: own.target, before, after },
      { reason, by, dryRun },
    );
    if (dryRun !== true) {
      await give(own);
      after = await look(own);
    }
    return {
      before: [describe(before)],
      after: [after.state],
      inForceAt: new Date(at.getTime() + LOOK_AGAIN_MS),
      state: stateOf(before.state),
    };
  } finally {
    await breaker.close();
  }
}

function describe({ state, calls, successRate }: TargetSnapshot): string {
  const rate = successRate === null ? "" : `, ${Math.floor(successRate * 1_000) / 10}% succeeded`;
  return `${state}, ${calls} calls${rate}`;
}
