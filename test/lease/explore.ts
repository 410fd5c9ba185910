import { unspentUnits } from "../../packages/core/src/pipeline/leases/lease-account.ts";
import type { LeaseModel, ModelSetup, Transition } from "./lease-model.ts";
import {
  copyModel,
  crash,
  createModel,
  decideLease,
  deliverRefund,
  deliverReply,
  evict,
  findAccountingError,
  loseRefund,
  loseReply,
  outstandingUnits,
  refundExpired,
  refundLast,
  sendRequest,
  stateKey,
  TICK,
  tick,
  timeOut,
} from "./lease-model.ts";

/** The bounds of an exploration. */
export interface Bounds {
  readonly processes: number;
  readonly ticks: number;
  readonly crashes: number;
  /** The costs of the clients' requests. */
  readonly costs: readonly number[];
}

/** The transitions that led to a model, the last one first. */
interface Trail {
  readonly name: string;
  readonly before: Trail | undefined;
}

/** Explores every order of all possible transitions, and returns the number of different models. Throws at the first error. */
export function explore(setup: ModelSetup, bounds: Bounds): number {
  const start = 7 * TICK;
  const end = start + bounds.ticks * TICK;
  const first = createModel(setup, bounds.processes, start);
  const seen = new Set([stateKey(first)]);
  const open: { readonly model: LeaseModel; readonly trail: Trail | undefined }[] = [
    { model: first, trail: undefined },
  ];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const [name, transition] of transitionsOf(next.model, setup, bounds, end)) {
      const model = copyModel(next.model, setup);
      const trail = { name, before: next.trail };
      setup.monitor.see(model.monitorState, outstandingUnits(model));
      try {
        transition(model);
      } catch (error) {
        throw new Error(`${(error as Error).message}: ${show(trail)}`, { cause: error });
      }
      const wrong = findExcessUnits(model) ?? findAccountingError(setup, model);
      if (wrong !== undefined) throw new Error(`${wrong}: ${show(trail)}`);
      const key = stateKey(model);
      if (seen.has(key)) continue;
      seen.add(key);
      open.push({ model, trail });
    }
  }
  return seen.size;
}

/** All transitions that are possible next; the clock advances until `end`. */
export function transitionsOf(
  model: LeaseModel,
  setup: ModelSetup,
  bounds: Bounds,
  end: number,
): [name: string, transition: Transition][] {
  const transitions: [string, Transition][] = [];
  model.processes.forEach(({ account, leaseRequests, payments }, p) => {
    if (payments.length > 0) transitions.push([`${p} refunds its last payment`, refundLast(p)]);
    for (const cost of bounds.costs) {
      transitions.push([`${p} receives a request of ${cost}`, sendRequest(setup, p, cost)]);
    }
    leaseRequests.forEach(({ result, receiver }, a) => {
      if (result === undefined)
        transitions.push([`${p}'s lease is decided`, decideLease(setup, p, a)]);
      else transitions.push([`${p} receives the reply`, deliverReply(p, a)]);
      // At most one request has timed out or crashed: more of them would behave in the same way.
      const isOneLate = leaseRequests.some((other) => other.receiver !== "account");
      if (receiver === "account" && !isOneLate) transitions.push([`${p} times out`, timeOut(p, a)]);
      if (receiver !== "account")
        transitions.push([`${p}'s reply is lost`, (next) => loseReply(next, p, a)]);
    });
    if (account.leases.some(({ expiresAt }) => model.now >= expiresAt)) {
      transitions.push([`${p} refunds expired leases`, refundExpired(p)]);
    }
    if (account.leases.length > 0) {
      if (leaseRequests.length < 2) transitions.push([`${p} evicts the subject`, evict(setup, p)]);
      if (model.crashes < bounds.crashes) transitions.push([`${p} crashes`, crash(setup, p)]);
    }
  });
  model.refundsInFlight.forEach((_, r) => {
    transitions.push(["a refund arrives", deliverRefund(setup, r)]);
    transitions.push(["a refund is lost", loseRefund(r)]);
  });
  if (model.now < end) transitions.push(["time passes", tick(setup)]);
  return transitions;
}

/** Describes an account that holds more units than it may; undefined if there is none. */
export function findExcessUnits({ processes }: LeaseModel): string | undefined {
  for (const { account } of processes) {
    const held = unspentUnits(account) + account.pendingUnits;
    if (held > account.settings.max) return `${held} units held of ${account.settings.max}`;
  }
  return undefined;
}

function show(trail: Trail | undefined): string {
  const names: string[] = [];
  for (let at = trail; at !== undefined; at = at.before) names.unshift(at.name);
  return names.join(", ");
}
