import type { Algorithm, CompiledLimit } from "../../packages/core/src/algorithms/algorithm.ts";
import type { CounterState } from "../../packages/core/src/operations/counter.ts";
import { loadCounter } from "../../packages/core/src/operations/counter.ts";
import { decide } from "../../packages/core/src/operations/decide.ts";
import type { Receipt } from "../../packages/core/src/operations/refund.ts";
import { refund } from "../../packages/core/src/operations/refund.ts";
import { decodeReply } from "../../packages/core/src/pipeline/decode-reply.ts";
import {
  closeAccount,
  findLease,
  openAccount,
  receiptFor,
  recordDenial,
  recordFailure,
  recordGrant,
  returnToLease,
  spend,
  takeExpired,
  unitsToLeaseNext,
  unitsToLeaseWithRequest,
} from "../../packages/core/src/pipeline/leases/lease-account.ts";
import { leaseOf, remainingUnits } from "../../packages/core/src/pipeline/leases/lease-reply.ts";
import type {
  Lease,
  LeaseAccount,
  LeaseSettings,
} from "../../packages/core/src/pipeline/leases/leases.ts";
import type { CompiledPolicy } from "../../packages/core/src/policy/compiled-policy.ts";
import type { SubjectCounter } from "../../packages/core/src/policy/counters.ts";
import { MemoryTable } from "../../packages/core/src/store/memory-table.ts";
import type { Monitor } from "./monitor.ts";

/** Microseconds from one moment to the next. */
export const TICK = 1_000_000;

/** What is the same in every state. */
export interface Setting {
  readonly counted: CompiledPolicy;
  readonly counter: SubjectCounter;
  readonly rule: LeaseSettings;
  readonly monitor: Monitor;
  /** Whether units belong to a window, and are nothing to the next one. */
  readonly hasWindows: boolean;
  /** Whether clients may give back what leases paid; for fixed windows, whose monitor can take it back. */
  readonly refunds?: boolean;
}

/** A charge, and when the window ends that was charged; 0 where there are none. */
interface Charge extends Receipt {
  readonly ends: number;
}

/** A lease that was asked for. */
interface Ask {
  readonly units: number;
  readonly sent: number;
  /** Who waits for the answer: nobody any more, but a process that gives back what was charged; or nobody at all. */
  listener: "account" | "process" | "nobody";
  /** What the store decided, once it has. */
  answer: { readonly lease: Lease | undefined; readonly room: number } | undefined;
}

interface Process {
  account: LeaseAccount;
  asks: Ask[];
  /** What leases paid last, where it may be refunded. */
  paid: { readonly lease: Lease; readonly cost: number }[];
}

/** A store, the processes that lease from it, and what is on its way between them. */
export interface World {
  now: number;
  /** What the store keeps of the one subject, until all has come back. */
  kept: { counter: CounterState; expires: number } | undefined;
  generations: number;
  processes: Process[];
  /** Units on their way back to the store. */
  returns: Charge[];
  /** Units that were charged and will not be spent nor given back, by when what they were charged to ends. */
  lost: { units: number; ends: number }[];
  watched: number[];
  crashes: number;
}

export function beginWorld(
  { rule: settings, monitor }: Setting,
  processes: number,
  now: number,
): World {
  return {
    now,
    kept: undefined,
    generations: 0,
    processes: Array.from({ length: processes }, () => ({
      account: freshAccount(settings),
      asks: [],
      paid: [],
    })),
    returns: [],
    lost: [],
    watched: monitor.begin(),
    crashes: 0,
  };
}

/** A process that would lease as much as there is: the guarantee must not depend on its modesty. */
function freshAccount(settings: LeaseSettings): LeaseAccount {
  return {
    ...openAccount(settings),
    remainingInStore: settings.max,
    lastRequestAt: Number.POSITIVE_INFINITY,
  };
}

export function copyWorld(world: World, { counter }: Setting): World {
  return {
    ...world,
    kept: world.kept && {
      counter: copyCounter(world.kept.counter, counter),
      expires: world.kept.expires,
    },
    processes: world.processes.map(({ account, asks, paid }) => ({
      paid: [...paid],
      account: { ...account, leases: account.leases.map((lease) => ({ ...lease })) },
      asks: asks.map((ask) => ({ ...ask })),
    })),
    returns: [...world.returns],
    lost: world.lost.map((one) => ({ ...one })),
    watched: [...world.watched],
  };
}

function copyCounter(state: CounterState, { limits }: SubjectCounter): CounterState {
  const limitStates = limits.map(({ algorithm }, i) =>
    (algorithm as Algorithm<unknown, unknown>).copyState(state.limitStates[i]),
  );
  return { ...state, limitStates };
}

/** Units that may still be spent: held, or charged and on their way. */
export function unitsOutstanding({ now, processes }: World): number {
  let units = 0;
  for (const { account, asks } of processes) {
    for (const { unspent, expiresAt } of account.leases) if (now < expiresAt) units += unspent;
    for (const { answer, listener } of asks) {
      const lease = answer?.lease;
      if (lease && listener === "account" && now < lease.expiresAt) units += lease.unspent;
    }
  }
  return units;
}

/** Something that happens next. */
export type Move = (world: World) => void;

/** A client asks a process for one unit. */
export function request(setting: Setting, p: number, cost: number): Move {
  return (world) => {
    const process = world.processes[p] as Process;
    const { account } = process;
    const lease = findLease(account, cost, world.now);
    let wanted: number;
    if (lease === undefined) {
      const { allowed, room, receipt } = charge(setting, world, cost);
      if (allowed) admit(setting, world, cost, receipt.ends);
      giveBack(world, takeExpired(account, world.now));
      // Of what the request waits for, too: see `freshAccount`.
      account.remainingInStore += cost;
      wanted = unitsToLeaseWithRequest(account, cost, world.now);
      account.remainingInStore = room;
    } else {
      admit(setting, world, cost, (lease.receipt as Charge).ends);
      spend(account, lease, cost);
      if (setting.refunds) process.paid.push({ lease, cost });
      wanted = unitsToLeaseNext(account);
    }
    if (wanted === 0) return;
    account.pendingUnits = wanted;
    process.asks.push({ units: wanted, sent: world.now, listener: "account", answer: undefined });
  };
}

/** The store decides what was asked. */
export function serve(setting: Setting, p: number, a: number): Move {
  return (world) => {
    const ask = (world.processes[p] as Process).asks[a] as Ask;
    const { allowed, reply, receipt, room } = charge(setting, world, ask.units);
    const lease = allowed
      ? leaseOf(setting.rule, setting.counter.group, receipt, reply, ask.sent)
      : undefined;
    ask.answer = { lease, room };
    if (ask.listener === "nobody") drop(world, p, a);
  };
}

/** An answer comes. */
export function deliver(p: number, a: number): Move {
  return (world) => {
    const { account, asks } = world.processes[p] as Process;
    const [{ answer, listener } = {} as Ask] = asks.splice(a, 1);
    if (answer === undefined) throw new Error("nothing was answered");
    const { lease, room } = answer;
    if (listener === "process") {
      if (lease) world.returns.push(lease.receipt as Charge);
    } else if (lease) {
      recordGrant(account, { ...lease }, room);
    } else {
      recordDenial(account, room);
    }
  };
}

/** A process waits no longer. */
export function abandon(p: number, a: number): Move {
  return (world) => {
    const { account, asks } = world.processes[p] as Process;
    (asks[a] as Ask).listener = "process";
    recordFailure(account);
  };
}

/** A question, or its answer, never comes. */
export function drop(world: World, p: number, a: number): void {
  const [ask] = (world.processes[p] as Process).asks.splice(a, 1);
  const receipt = ask?.answer?.lease?.receipt as Charge | undefined;
  if (receipt) lostUnits(world, receipt.cost, receipt);
}

/** A client gives back the last unit that a lease paid. */
export function refundLast(p: number): Move {
  return (world) => {
    const { account, paid } = world.processes[p] as Process;
    const { lease, cost } = paid.pop() as Process["paid"][number];
    const { ends } = lease.receipt as Charge;
    if (world.watched[0] === ends) world.watched[1] = (world.watched[1] as number) - cost;
    if (returnToLease(account, lease, cost, world.now)) return;
    world.returns.push(receiptFor(lease, cost) as Charge);
  };
}

/** A process looks for what is over. */
export function look(p: number): Move {
  return (world) => {
    const { account } = world.processes[p] as Process;
    giveBack(world, takeExpired(account, world.now));
  };
}

/** A process forgets the subject, as it does when others are asked for more. */
export function evict({ rule: settings }: Setting, p: number): Move {
  return (world) => {
    const process = world.processes[p] as Process;
    giveBack(world, closeAccount(process.account));
    process.account = freshAccount(settings);
    for (const ask of process.asks) if (ask.listener === "account") ask.listener = "process";
  };
}

/** A process ends at once, and another one begins. */
export function crash({ rule: settings }: Setting, p: number): Move {
  return (world) => {
    const process = world.processes[p] as Process;
    for (const { unspent, receipt } of process.account.leases) {
      lostUnits(world, unspent, receipt as Charge);
    }
    process.account = freshAccount(settings);
    process.paid = [];
    for (let a = process.asks.length - 1; a >= 0; a -= 1) {
      const ask = process.asks[a] as Ask;
      ask.listener = "nobody";
      if (ask.answer) drop(world, p, a);
    }
    world.crashes += 1;
  };
}

/** What was sent back arrives. */
export function takeBack({ counter }: Setting, r: number): Move {
  return (world) => {
    const [receipt] = world.returns.splice(r, 1) as [Charge];
    withStore(world, counter, (memory) => {
      refund.runInMemory(receipt, memory, { now: world.now, generation: world.generations + 1 });
    });
  };
}

/** Or it does not. */
export function loseReturn(r: number): Move {
  return (world) => {
    const [receipt] = world.returns.splice(r, 1) as [Charge];
    lostUnits(world, receipt.cost, receipt);
  };
}

/** Time passes; what is as if unused is not kept. */
export function tick({ monitor, counter }: Setting): Move {
  return (world) => {
    const { kept } = world;
    world.now += TICK;
    monitor.tick(world.watched, world.now);
    world.lost = world.lost.filter(({ ends }) => ends > world.now);
    if (kept === undefined) return;
    if (world.now >= kept.expires) world.kept = undefined;
    // What has drained is the same whenever it is looked at: worlds that differ in that only are one.
    else
      withStore(
        world,
        counter,
        (memory) => void loadCounter(counter, memory, { now: world.now, generation: 0 }),
      );
  };
}

function lostUnits(world: World, units: number, { ends }: Charge): void {
  if (ends > world.now) world.lost.push({ units, ends });
}

function giveBack(world: World, leases: readonly Lease[]): void {
  for (const lease of leases) world.returns.push(receiptFor(lease, lease.unspent) as Charge);
}

function admit({ monitor }: Setting, world: World, units: number, ends: number): void {
  if (!monitor.admit(world.watched, units, ends, world.now)) throw new Error("too much admitted");
}

function charge({ counted, counter, hasWindows }: Setting, world: World, cost: number) {
  let reply: readonly number[] = [];
  withStore(world, counter, (memory) => {
    const call = { cost, mode: "charge", counters: [counter] } as const;
    reply = decide.runInMemory(call, memory, { now: world.now, generation: world.generations + 1 });
  });
  const read = decodeReply(counted, [counter], cost, reply);
  const resets = counter.limits.map((_, i) => reply[4 * i + 5] as number);
  const ends = hasWindows ? world.now + Math.min(...resets) : 0;
  const receipt: Charge = { ...(read.receipts[0] as Receipt), ends };
  return { allowed: read.allowed, reply, receipt, room: remainingUnits(counter.group, reply) };
}

/** The store's own code, on what the world keeps. */
function withStore(
  world: World,
  counter: SubjectCounter,
  run: (memory: MemoryTable) => void,
): void {
  const memory = new MemoryTable(1);
  const { kept } = world;
  if (kept) memory.set(counter.key, kept.counter, { usedShare: 0, expiresAt: 0, logEntries: 0 }, 0);
  run(memory);
  const state = memory.get(counter.key) as CounterState | undefined;
  if (state === undefined) return;
  if (kept === undefined) world.generations += 1;
  world.kept = {
    counter: state,
    expires: world.now + Math.max(...counter.limits.map(resetOf(state))),
  };
}

function resetOf(state: CounterState): (limit: CompiledLimit, i: number) => number {
  return ({ algorithm, quota }, i) => algorithm.report(state.limitStates[i], quota).resetAfter;
}

/**
 * What is wrong with the books of the current window: what the store has charged and not been given back is what was admitted,
 * what is held, what is on its way, and what was lost, which is no more than what was held.
 */
export function findMiscount({ counter, hasWindows }: Setting, world: World): string | undefined {
  const { kept, now, watched } = world;
  const [{ algorithm, quota, limit }] = counter.limits as [CompiledLimit];
  // Where units come back one by one, those that were lost do as well.
  if (!hasWindows || kept === undefined) return undefined;
  const { remaining } = algorithm.report(kept.counter.limitStates[0], quota);
  let units = watched[1] as number;
  const count = (receipt: Receipt | undefined, cost: number): void => {
    if (receipt !== undefined && (receipt as Charge).ends > now) units += cost;
  };
  for (const { account, asks } of world.processes) {
    for (const { receipt, unspent } of account.leases) count(receipt, unspent);
    for (const { answer } of asks) count(answer?.lease?.receipt, answer?.lease?.unspent ?? 0);
  }
  for (const receipt of world.returns) count(receipt, receipt.cost);
  for (const lost of world.lost) units += lost.units;
  const charged = limit - remaining;
  return units === charged ? undefined : `${charged} charged, ${units} accounted for`;
}

/** Equal for worlds of which the same can become: processes are alike, and so are messages on their way. */
export function keyOf(world: World): string {
  const { now, kept, processes, returns, lost, watched, crashes } = world;
  const chargeKey = ({ cost, chargedAt, generations }: Receipt): string =>
    `${cost}@${chargedAt / TICK}${generations[0] === kept?.counter.generation ? "" : "!"}`;
  const leaseKey = ({ receipt, expiresAt, unspent }: Lease): string =>
    `${unspent}<${expiresAt / TICK} ${chargeKey(receipt)}`;
  const processKeys = processes.map(({ account, asks }) => {
    const { settings, pendingUnits, nextUnits, remainingInStore, lastRequestAt, leases } = account;
    const askKeys = asks.map(({ units, sent, listener, answer }) => {
      const said =
        answer &&
        `${Math.min(answer.room, settings.max)} ${answer.lease && leaseKey(answer.lease)}`;
      return `${units} ${answer ? "" : sent / TICK} ${listener} ${said}`;
    });
    const known = [
      pendingUnits,
      nextUnits,
      Math.min(remainingInStore, settings.max),
      lastRequestAt >= now,
    ];
    return [...known, leases.map(leaseKey), ...askKeys.sort()].join();
  });
  const losses = new Map<number, number>();
  for (const { units, ends } of lost) losses.set(ends, (losses.get(ends) ?? 0) + units);
  return [
    now / TICK,
    crashes,
    watched,
    kept && JSON.stringify(kept.counter.limitStates, showLogs),
    processKeys.sort().join("|"),
    returns.map(chargeKey).sort(),
    [...losses].sort(),
  ].join(";");
}

/** The entries of a log are behind functions. */
function showLogs(_: string, value: unknown): unknown {
  const { count, time, total } = (value ?? {}) as {
    count?: () => number;
    time: (i: number) => number;
    total: (i: number) => number;
  };
  if (typeof count !== "function") return value;
  return Array.from({ length: count() }, (_, i) => [time(i + 1), total(i + 1)]);
}
