import type { Decision } from "../decision.ts";
import { formatKind, formatReceived, HeadgateError } from "../errors.ts";
import { rejectUnknownOptions } from "../options.ts";
import type { LimitDescription, Policy } from "../policy.ts";
import { decide } from "../store/decide.ts";
import { forget } from "../store/forget.ts";
import { memoryStore } from "../store/memory-store.ts";
import { refund } from "../store/refund.ts";
import type { Store } from "../store/store.ts";
import type { Duration } from "../time.ts";
import { parseDuration, toMilliseconds } from "../time.ts";
import { readDecision, rejectForeign, takeReceipt } from "./counted-decision.ts";
import type { Counters, GroupUnit, Subjects } from "./counters.ts";
import { compileCounters, joinCounters, namedUnitsOf, unitsOf } from "./counters.ts";
import type { NameClaim } from "./names.ts";
import { claimName, requireName } from "./names.ts";
import { createWaitQueue } from "./wait-queue.ts";

/** Other parts of Headgate, and other copies of it, find what they need of a limiter here. */
export const LIMITER: unique symbol = Symbol.for("@headgate/core.limiter") as never;

/** How a limiter is seen by the rest of Headgate. */
export interface LimiterParts {
  readonly counters: Counters;
  /** Its own counters: two limiters that hold the same object share a budget. */
  readonly identity: object;
  /** The limiter it extends. */
  readonly parent: Limiter | undefined;
  /** Its own limits alone, where it extends another. */
  readonly alone: Limiter | undefined;
  isClosed(): boolean;
}

export interface CostOptions {
  /** Units asked for: a whole number, at least 1. Default 1. */
  readonly cost?: number | undefined;
}

export interface WaitForOptions extends CostOptions {
  /** The longest wait. Default: as long as it takes. */
  readonly timeout?: Duration | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A named policy on a store. */
export interface Limiter<Dimension extends string = string> {
  readonly name: string;
  /** What each limit promises, in the order of the policy. */
  readonly limits: readonly LimitDescription[];

  /**
   * Asks for admission and charges it, if every limit allows; a denial charges nothing and is a value.
   * Rejects with `HEADGATE_EMPTY_KEY`, `HEADGATE_INVALID_KEY`, `HEADGATE_INVALID_COST`, `HEADGATE_CLOSED`, and with the
   * store's error when it could not answer.
   */
  consume(subject: Subjects<Dimension>, options?: CostOptions): Promise<Decision>;

  /** The answer that `consume` would give now, nothing charged. */
  peek(subject: Subjects<Dimension>, options?: CostOptions): Promise<Decision>;

  /**
   * Gives back what a decision charged, as far as it has not come back by itself; true if something was given back.
   * Works once for each decision, and never leaves more room than if the decision had not been asked.
   */
  refund(decision: Decision): Promise<boolean>;

  /**
   * Forgets a subject, in each dimension that is named, in this limiter only; true if a record of it was deleted. Everybody
   * is forgotten only by name: `reset({ global: "*" })`.
   */
  reset(subject: Subjects<Dimension>): Promise<boolean>;

  /**
   * Waits for admission, first come, first served in this process among those who name the same subjects. Rejects with `HEADGATE_WAIT_TIMEOUT`,
   * `HEADGATE_QUEUE_FULL`, `HEADGATE_COST_ABOVE_LIMIT`, the signal's reason, and all that `consume` rejects with.
   */
  wait(subject: Subjects<Dimension>, options?: WaitForOptions): Promise<Decision>;

  /** Frees the name and rejects everybody who waits. The store's client stays open. */
  close(): Promise<void>;

  readonly [LIMITER]: LimiterParts;
}

export interface LimiterOptions<Per extends string = string> {
  /** The identity of the counters, across processes and deploys. Required with a `store`. */
  readonly name?: string | undefined;
  /** The limits decided together. */
  readonly limits: Policy<Per>;
  /** Where counts live. Default: a `memoryStore()` of its own. */
  readonly store?: Store | undefined;
  /** A limiter on the same store whose limits are decided together with these. It extends none itself. */
  readonly extends?: Limiter | undefined;
  /** How many calls of `wait` may be waiting at once, from 1. Default 1,000. */
  readonly maxQueue?: number | undefined;
}

const OPTIONS = ["name", "limits", "store", "extends", "maxQueue"] as const;

/**
 * Makes a limiter. The same name on the same store with the same policy is the same limiter.
 * Throws `HEADGATE_INVALID_LIMIT`, `HEADGATE_INVALID_OPTION`, `HEADGATE_DUPLICATE_NAME`.
 */
export function createLimiter<const Per extends string = never>(
  options: LimiterOptions<Per>,
): Limiter<Per | "default"> {
  rejectUnknownOptions("createLimiter", options, OPTIONS);
  const { extends: parent, maxQueue = 1_000 } = options;
  if (!Number.isSafeInteger(maxQueue) || maxQueue < 1) {
    throw invalidOption("maxQueue must be a whole number of at least 1", maxQueue);
  }
  if (parent !== undefined && partsOf(parent).parent !== undefined) {
    throw invalidKind("extends takes a limiter that extends none itself", parent);
  }
  if (parent !== undefined && partsOf(parent).isClosed()) throw isClosed(parent.name);
  const { name, store } = placeOf(options);
  const own = compileCounters(name, options.limits as Policy, store);
  const counters = parent === undefined ? own : joinCounters(partsOf(parent).counters, own);
  const claim = claimName(store, name, own.canonical);
  if (parent === undefined) return limiterOn(counters, name, maxQueue, claim);
  const alone = limiterOn(own, name, maxQueue, claim);
  return limiterOn(counters, name, maxQueue, claim, parent, alone);
}

/** The name and the store of a limiter's counters. */
function placeOf({ name, store, extends: parent }: LimiterOptions): { name: string; store: Store } {
  if (store !== undefined && !isStore(store)) {
    throw invalidKind("store must be made by memoryStore or redisStore", store);
  }
  const place = store ?? (parent === undefined ? undefined : partsOf(parent).counters.store);
  // Counters that nobody else can reach need no name to be told apart by.
  const named = name === undefined && place === undefined ? "limiter" : name;
  requireName(named);
  return { name: named, store: place ?? memoryStore() };
}

function limiterOn(
  counters: Counters,
  name: string,
  maxQueue: number,
  claim: NameClaim,
  parent?: Limiter,
  alone?: Limiter,
): Limiter {
  const { store } = counters;
  let closed = false;

  async function ask(
    units: readonly GroupUnit[],
    cost: number,
    charge: boolean,
  ): Promise<Decision> {
    if (closed) throw isClosed(name);
    const reply = await store.run(decide, { cost, charge, units });
    return readDecision(counters, units, cost, charge, reply);
  }

  const queue = createWaitQueue(maxQueue, giveBack);

  async function giveBack(decision: Decision): Promise<boolean> {
    const receipt = takeReceipt(decision, counters);
    if (receipt === undefined) return false;
    const reply = await store.run(refund, receipt);
    rejectForeign(reply, receipt.units as readonly GroupUnit[]);
    return reply[0] === 1;
  }

  return {
    name,
    limits: counters.limits.map(({ name, per, limit, windowMs }) => ({
      name,
      per,
      limit,
      windowMs,
    })),
    [LIMITER]: { counters, identity: claim.identity, parent, alone, isClosed: () => closed },

    async consume(subject, options) {
      return ask(unitsOf(counters, subject), readCost(options), true);
    },

    async peek(subject, options) {
      return ask(unitsOf(counters, subject), readCost(options), false);
    },

    async refund(decision) {
      if (closed) throw isClosed(name);
      return giveBack(decision);
    },

    async reset(subject) {
      if (closed) throw isClosed(name);
      const units = namedUnitsOf(counters, subject);
      const reply = await store.run(forget, units);
      return reply[0] === 1;
    },

    async wait(subject, options = {}) {
      if (closed) throw isClosed(name);
      rejectUnknownOptions("wait", options, ["cost", "timeout", "signal"]);
      const units = unitsOf(counters, subject);
      const cost = checkCost(options.cost);
      const { signal } = options;
      if (signal !== undefined && !(signal instanceof AbortSignal)) {
        throw invalidOption("signal must be an AbortSignal", signal);
      }
      rejectImpossible(units, cost);
      const timeoutMs =
        options.timeout === undefined
          ? undefined
          : toMilliseconds(parseDuration(options.timeout, "timeout", "HEADGATE_INVALID_OPTION"));
      return queue.enter(units.map(({ key }) => key).join(" "), () => ask(units, cost, true), {
        timeoutMs,
        signal: options.signal,
      });
    },

    async close() {
      if (closed) return;
      closed = true;
      claim.release();
      queue.close(isClosed(name));
      await alone?.close();
    },
  };
}

/** The parts of a limiter that any copy of Headgate made. Throws `HEADGATE_INVALID_OPTION` for anything else. */
export function partsOf(limiter: unknown): LimiterParts {
  const parts =
    typeof limiter === "object" && limiter !== null
      ? (limiter as Partial<Limiter>)[LIMITER]
      : undefined;
  if (parts === undefined) throw invalidKind("a limiter made by createLimiter is needed", limiter);
  return parts;
}

function isStore(store: unknown): store is Store {
  const { owner, prefix, run } = (store ?? {}) as Partial<Store>;
  return (
    ((typeof owner === "object" && owner !== null) || typeof owner === "function") &&
    typeof prefix === "string" &&
    typeof run === "function"
  );
}

function readCost(options: CostOptions | undefined): number {
  if (options === undefined) return 1;
  rejectUnknownOptions("consume and peek", options, ["cost"]);
  return checkCost(options.cost);
}

function checkCost(cost = 1): number {
  if (Number.isSafeInteger(cost) && cost >= 1) return cost;
  throw new HeadgateError(
    "HEADGATE_INVALID_COST",
    `cost must be a whole number from 1 to 2^53 - 1, got ${formatReceived(cost)}`,
  );
}

function rejectImpossible(units: readonly GroupUnit[], cost: number): void {
  for (const { limits } of units) {
    for (const { name, limit } of limits) {
      if (cost <= limit) continue;
      throw new HeadgateError(
        "HEADGATE_COST_ABOVE_LIMIT",
        `a cost of ${cost} can never pass the limit ${formatReceived(name)}, which grants ${limit} at most`,
      );
    }
  }
}

function invalidOption(rule: string, received: unknown): HeadgateError {
  return new HeadgateError("HEADGATE_INVALID_OPTION", `${rule}, got ${formatReceived(received)}`);
}

/** For values that may hold what nobody should read in a message. */
function invalidKind(rule: string, received: unknown): HeadgateError {
  return new HeadgateError("HEADGATE_INVALID_OPTION", `${rule}, got ${formatKind(received)}`);
}

function isClosed(name: string): HeadgateError {
  return new HeadgateError(
    "HEADGATE_CLOSED",
    `the limiter ${formatReceived(name)} has been closed`,
  );
}
