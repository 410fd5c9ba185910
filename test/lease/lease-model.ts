import type { Algorithm, CompiledLimit } from "../../packages/core/src/algorithms/algorithm.ts";
import {
  loadCounter,
  readCounter,
  saveCounter,
} from "../../packages/core/src/operations/counter.ts";
import type { CounterState } from "../../packages/core/src/operations/counter-state.ts";
import { decide } from "../../packages/core/src/operations/decide.ts";
import type { CounterDecision } from "../../packages/core/src/operations/decide-call.ts";
import type { Receipt } from "../../packages/core/src/operations/refund.ts";
import { refund } from "../../packages/core/src/operations/refund.ts";
import type { Lease, LeaseAccount } from "../../packages/core/src/pipeline/leases/lease-account.ts";
import {
  closeAccount,
  findLease,
  leaseOf,
  openAccount,
  receiptFor,
  recordDenial,
  recordFailure,
  recordGrant,
  remainingUnits,
  returnToLease,
  spend,
  takeExpired,
  unitsToLeaseNext,
  unitsToLeaseWithRequest,
} from "../../packages/core/src/pipeline/leases/lease-account.ts";
import type { LeaseSettings } from "../../packages/core/src/pipeline/leases/lease-options.ts";
import type { CompiledPolicy } from "../../packages/core/src/policy/compiled-policy.ts";
import type { SubjectCounter } from "../../packages/core/src/policy/counters.ts";
import { receiptsOf } from "../../packages/core/src/policy/limiter-decision.ts";
import { MemoryTable } from "../../packages/core/src/store/memory-table.ts";
import type { GuaranteeMonitor } from "./guarantee-monitor.ts";

/** The time from one step of the clock to the next, in microseconds. */
export const TICK = 1_000_000;

/** The parts of a model that never change. */
export interface ModelSetup {
  readonly policy: CompiledPolicy;
  readonly counter: SubjectCounter;
  readonly settings: LeaseSettings;
  readonly monitor: GuaranteeMonitor;
  /** Whether the limit is a fixed window, so that its units belong to one window only. */
  readonly hasWindows: boolean;
  /** Whether clients refund what leases paid; for fixed windows only, whose monitor can subtract refunds. */
  readonly refunds?: boolean;
}

/** A charge, with the end of the window that was charged; 0 if the limit has no windows. */
interface Charge extends Receipt {
  readonly windowEnd: number;
}

/** A request for a lease, in flight to the store or back. */
interface LeaseRequest {
  readonly units: number;
  readonly sentAt: number;
  /** What the reply is for: the account; after a timeout, the process that refunds the charge; after a crash, nothing. */
  receiver: "account" | "refund" | "none";
  /** The store's decision; undefined while the request is on its way to the store. */
  result: { readonly lease: Lease | undefined; readonly remaining: number } | undefined;
}

interface Process {
  account: LeaseAccount;
  leaseRequests: LeaseRequest[];
  /** The last payments from leases, if clients refund them. */
  payments: { readonly lease: Lease; readonly cost: number }[];
}

/** A model of a store, the processes that lease units from it, and the messages in flight between them. */
export interface LeaseModel {
  now: number;
  /** The counter of the one subject in the store; undefined once it has recovered fully. */
  stored: { counter: CounterState; expiresAt: number } | undefined;
  generations: number;
  processes: Process[];
  /** Refunds on their way to the store. */
  refundsInFlight: Charge[];
  /** Units that were charged and will be neither spent nor refunded, with the end of the window that was charged. */
  losses: { units: number; windowEnd: number }[];
  monitorState: number[];
  crashes: number;
}

export function createModel(
  { settings, monitor }: ModelSetup,
  processes: number,
  now: number,
): LeaseModel {
  return {
    now,
    stored: undefined,
    generations: 0,
    processes: Array.from({ length: processes }, () => ({
      account: openHotAccount(settings),
      leaseRequests: [],
      payments: [],
    })),
    refundsInFlight: [],
    losses: [],
    monitorState: monitor.begin(),
    crashes: 0,
  };
}

/** An account that leases as many units as it can: the guarantee must hold even then. */
function openHotAccount(settings: LeaseSettings): LeaseAccount {
  return {
    ...openAccount(settings),
    remainingInStore: settings.max,
    lastRequestAt: Number.POSITIVE_INFINITY,
  };
}

export function copyModel(model: LeaseModel, { counter }: ModelSetup): LeaseModel {
  return {
    ...model,
    stored: model.stored && {
      counter: copyCounter(model.stored.counter, counter),
      expiresAt: model.stored.expiresAt,
    },
    processes: model.processes.map(({ account, leaseRequests, payments }) => ({
      payments: [...payments],
      account: { ...account, leases: account.leases.map((lease) => ({ ...lease })) },
      leaseRequests: leaseRequests.map((leaseRequest) => ({ ...leaseRequest })),
    })),
    refundsInFlight: [...model.refundsInFlight],
    losses: model.losses.map((one) => ({ ...one })),
    monitorState: [...model.monitorState],
  };
}

function copyCounter(state: CounterState, { limits }: SubjectCounter): CounterState {
  const limitStates = limits.map(({ algorithm }, i) =>
    (algorithm as Algorithm<unknown, unknown>).copyState(state.limitStates[i]),
  );
  return { ...state, limitStates };
}

/** Units that may still be spent: held in leases, or charged and on their way. */
export function outstandingUnits({ now, processes }: LeaseModel): number {
  let units = 0;
  for (const { account, leaseRequests } of processes) {
    for (const { unspent, expiresAt } of account.leases) if (now < expiresAt) units += unspent;
    for (const { result, receiver } of leaseRequests) {
      const lease = result?.lease;
      if (lease && receiver === "account" && now < lease.expiresAt) units += lease.unspent;
    }
  }
  return units;
}

/** One step that changes a model. */
export type Transition = (model: LeaseModel) => void;

/** A client sends a request to a process. */
export function sendRequest(setup: ModelSetup, p: number, cost: number): Transition {
  return (model) => {
    const process = model.processes[p] as Process;
    const { account } = process;
    const lease = findLease(account, cost, model.now);
    let wanted: number;
    if (lease === undefined) {
      const { decision, remaining, receipt } = charge(setup, model, cost);
      if (decision.allowed) admit(setup, model, cost, receipt.windowEnd);
      sendRefunds(model, takeExpired(account, model.now));
      // The units of the request itself may be leased, too: see `openHotAccount`.
      account.remainingInStore += cost;
      wanted = unitsToLeaseWithRequest(account, cost, model.now);
      account.remainingInStore = remaining;
    } else {
      admit(setup, model, cost, (lease.receipt as Charge).windowEnd);
      spend(account, lease, cost);
      if (setup.refunds) process.payments.push({ lease, cost });
      wanted = unitsToLeaseNext(account);
    }
    if (wanted === 0) return;
    account.pendingUnits = wanted;
    process.leaseRequests.push({
      units: wanted,
      sentAt: model.now,
      receiver: "account",
      result: undefined,
    });
  };
}

/** The store decides on a request for a lease. */
export function decideLease(setup: ModelSetup, p: number, a: number): Transition {
  return (model) => {
    const leaseRequest = (model.processes[p] as Process).leaseRequests[a] as LeaseRequest;
    const { decision, receipt, remaining } = charge(setup, model, leaseRequest.units);
    const lease = decision.allowed
      ? leaseOf(setup.settings, receipt, decision, leaseRequest.sentAt)
      : undefined;
    leaseRequest.result = { lease, remaining };
    if (leaseRequest.receiver === "none") loseReply(model, p, a);
  };
}

/** The reply to a request for a lease arrives. */
export function deliverReply(p: number, a: number): Transition {
  return (model) => {
    const { account, leaseRequests } = model.processes[p] as Process;
    const [{ result, receiver } = {} as LeaseRequest] = leaseRequests.splice(a, 1);
    if (result === undefined) throw new Error("the request has no reply yet");
    const { lease, remaining } = result;
    if (receiver === "refund") {
      if (lease) model.refundsInFlight.push(lease.receipt as Charge);
    } else if (lease) {
      recordGrant(account, { ...lease }, remaining);
    } else {
      recordDenial(account, remaining);
    }
  };
}

/** A request for a lease times out. */
export function timeOut(p: number, a: number): Transition {
  return (model) => {
    const { account, leaseRequests } = model.processes[p] as Process;
    (leaseRequests[a] as LeaseRequest).receiver = "refund";
    recordFailure(account);
  };
}

/** A request for a lease, or its reply, is lost. */
export function loseReply(model: LeaseModel, p: number, a: number): void {
  const [leaseRequest] = (model.processes[p] as Process).leaseRequests.splice(a, 1);
  const receipt = leaseRequest?.result?.lease?.receipt as Charge | undefined;
  if (receipt) recordLoss(model, receipt.cost, receipt);
}

/** A client refunds the last payment from a lease. */
export function refundLast(p: number): Transition {
  return (model) => {
    const { account, payments } = model.processes[p] as Process;
    const { lease, cost } = payments.pop() as Process["payments"][number];
    const { windowEnd } = lease.receipt as Charge;
    if (model.monitorState[0] === windowEnd)
      model.monitorState[1] = (model.monitorState[1] as number) - cost;
    if (returnToLease(account, lease, cost, model.now)) return;
    model.refundsInFlight.push(receiptFor(lease, cost) as Charge);
  };
}

/** A process refunds the leases that have expired. */
export function refundExpired(p: number): Transition {
  return (model) => {
    const { account } = model.processes[p] as Process;
    sendRefunds(model, takeExpired(account, model.now));
  };
}

/** A process evicts the account of the subject, as it does when it has too many accounts. */
export function evict({ settings }: ModelSetup, p: number): Transition {
  return (model) => {
    const process = model.processes[p] as Process;
    sendRefunds(model, closeAccount(process.account));
    process.account = openHotAccount(settings);
    for (const leaseRequest of process.leaseRequests)
      if (leaseRequest.receiver === "account") leaseRequest.receiver = "refund";
  };
}

/** A process crashes, and another one starts. */
export function crash({ settings }: ModelSetup, p: number): Transition {
  return (model) => {
    const process = model.processes[p] as Process;
    for (const { unspent, receipt } of process.account.leases) {
      recordLoss(model, unspent, receipt as Charge);
    }
    process.account = openHotAccount(settings);
    process.payments = [];
    for (let a = process.leaseRequests.length - 1; a >= 0; a -= 1) {
      const leaseRequest = process.leaseRequests[a] as LeaseRequest;
      leaseRequest.receiver = "none";
      if (leaseRequest.result) loseReply(model, p, a);
    }
    model.crashes += 1;
  };
}

/** A refund arrives at the store. */
export function deliverRefund({ counter }: ModelSetup, r: number): Transition {
  return (model) => {
    const [receipt] = model.refundsInFlight.splice(r, 1) as [Charge];
    withStore(model, counter, (memory) => {
      refund.runInMemory(receipt, memory, { now: model.now, generation: model.generations + 1 });
    });
  };
}

/** A refund is lost. */
export function loseRefund(r: number): Transition {
  return (model) => {
    const [receipt] = model.refundsInFlight.splice(r, 1) as [Charge];
    recordLoss(model, receipt.cost, receipt);
  };
}

/** The clock advances one tick; a counter that has recovered fully is dropped. */
export function tick({ monitor, counter }: ModelSetup): Transition {
  return (model) => {
    const { stored } = model;
    model.now += TICK;
    monitor.tick(model.monitorState, model.now);
    model.losses = model.losses.filter(({ windowEnd }) => windowEnd > model.now);
    if (stored === undefined) return;
    if (model.now >= stored.expiresAt) model.stored = undefined;
    // Updates the counter, so that models differ only if their counters do, not in when they were last updated.
    else
      withStore(model, counter, (memory) => {
        const state = loadCounter(counter, memory, { now: model.now, generation: 0 });
        saveCounter(counter, state, memory);
      });
  };
}

function recordLoss(model: LeaseModel, units: number, { windowEnd }: Charge): void {
  if (windowEnd > model.now) model.losses.push({ units, windowEnd });
}

function sendRefunds(model: LeaseModel, leases: readonly Lease[]): void {
  for (const lease of leases)
    model.refundsInFlight.push(receiptFor(lease, lease.unspent) as Charge);
}

function admit({ monitor }: ModelSetup, model: LeaseModel, units: number, windowEnd: number): void {
  if (!monitor.admit(model.monitorState, units, windowEnd, model.now))
    throw new Error("more units admitted than guaranteed");
}

function charge({ policy, counter, hasWindows }: ModelSetup, model: LeaseModel, cost: number) {
  const call = { cost, mode: "charge", counters: [counter] } as const;
  const context = { now: model.now, generation: model.generations + 1 };
  const decision = withStore(model, counter, (memory) => decide.runInMemory(call, memory, context));
  const [receipt] = receiptsOf(policy, cost, [decision]) as [Receipt];
  const resets = (decision.counters[0] as CounterDecision).limits.map(
    ({ resetAfter }) => resetAfter,
  );
  const windowEnd = hasWindows ? model.now + Math.min(...resets) : 0;
  const remaining = remainingUnits(decision);
  return { decision, receipt: { ...receipt, windowEnd } satisfies Charge, remaining };
}

/** Runs an operation of the memory store on the counter of the model. */
function withStore<T>(
  model: LeaseModel,
  counter: SubjectCounter,
  run: (memory: MemoryTable) => T,
): T {
  const memory = new MemoryTable(1);
  const { stored } = model;
  if (stored) saveCounter(counter, stored.counter, memory);
  const reply = run(memory);
  const state = readCounter(counter, memory);
  if (state === undefined) return reply;
  if (stored === undefined) model.generations += 1;
  model.stored = {
    // The next read overwrites the state.
    counter: copyCounter(state, counter),
    expiresAt: model.now + Math.max(...counter.limits.map(resetOf(state))),
  };
  return reply;
}

function resetOf(state: CounterState): (limit: CompiledLimit, i: number) => number {
  return ({ algorithm, quota }, i) => algorithm.report(state.limitStates[i], quota).resetAfter;
}

/**
 * Describes an error in the accounts of the current window; undefined if there is none. The units charged in the store must be the
 * admitted ones, those held in leases, those in flight, and the lost ones.
 */
export function findAccountingError(
  { counter, hasWindows }: ModelSetup,
  model: LeaseModel,
): string | undefined {
  const { stored, now, monitorState } = model;
  const [{ algorithm, quota, limit }] = counter.limits as [CompiledLimit];
  // Without windows, lost units drain like all others.
  if (!hasWindows || stored === undefined) return undefined;
  const { remaining } = algorithm.report(stored.counter.limitStates[0], quota);
  let units = monitorState[1] as number;
  const count = (receipt: Receipt | undefined, cost: number): void => {
    if (receipt !== undefined && (receipt as Charge).windowEnd > now) units += cost;
  };
  for (const { account, leaseRequests } of model.processes) {
    for (const { receipt, unspent } of account.leases) count(receipt, unspent);
    for (const { result } of leaseRequests)
      count(result?.lease?.receipt, result?.lease?.unspent ?? 0);
  }
  for (const receipt of model.refundsInFlight) count(receipt, receipt.cost);
  for (const loss of model.losses) units += loss.units;
  const charged = limit - remaining;
  return units === charged ? undefined : `${charged} charged, ${units} accounted for`;
}

/** Equal for models with the same possible futures: the order of processes and of messages in flight does not matter. */
export function stateKey(model: LeaseModel): string {
  const { now, stored, processes, refundsInFlight, losses, monitorState, crashes } = model;
  const chargeKey = ({ cost, chargedAt, generations }: Receipt): string =>
    `${cost}@${chargedAt / TICK}${generations[0] === stored?.counter.generation ? "" : "!"}`;
  const leaseKey = ({ receipt, expiresAt, unspent }: Lease): string =>
    `${unspent}<${expiresAt / TICK} ${chargeKey(receipt)}`;
  const processKeys = processes.map(({ account, leaseRequests }) => {
    const { settings, pendingUnits, nextUnits, remainingInStore, lastRequestAt, leases } = account;
    const requestKeys = leaseRequests.map(({ units, sentAt, receiver, result }) => {
      const resultKey =
        result &&
        `${Math.min(result.remaining, settings.max)} ${result.lease && leaseKey(result.lease)}`;
      return `${units} ${result ? "" : sentAt / TICK} ${receiver} ${resultKey}`;
    });
    const known = [
      pendingUnits,
      nextUnits,
      Math.min(remainingInStore, settings.max),
      lastRequestAt >= now,
    ];
    return [...known, leases.map(leaseKey), ...requestKeys.sort()].join();
  });
  const lostByWindow = new Map<number, number>();
  for (const { units, windowEnd } of losses) {
    lostByWindow.set(windowEnd, (lostByWindow.get(windowEnd) ?? 0) + units);
  }
  return [
    now / TICK,
    crashes,
    monitorState,
    stored && JSON.stringify(stored.counter.limitStates, showLogs),
    processKeys.sort().join("|"),
    refundsInFlight.map(chargeKey).sort(),
    [...lostByWindow].sort(),
  ].join(";");
}

/** Makes the entries of a log visible to JSON. */
function showLogs(_: string, value: unknown): unknown {
  const { count, time, total } = (value ?? {}) as {
    count?: () => number;
    time: (i: number) => number;
    total: (i: number) => number;
  };
  if (typeof count !== "function") return value;
  return Array.from({ length: count() }, (_, i) => [time(i + 1), total(i + 1)]);
}
