import { setImmediate } from "node:timers/promises";
import { HeadgateError, memoryStore } from "@headgate/core";
import type { CountingStore, Operation } from "@headgate/core/internal";
import { requireStore } from "@headgate/core/internal";
import { redisBackend } from "../../packages/core/src/limiter/redis-limiter.ts";
import { brandStore } from "../../packages/core/src/store/store.ts";
import { sendBy } from "./send-by.ts";

/** A call to the store that waits for the test. */
export interface HeldCall {
  readonly name: string;
  /** Executes the call. Its reply waits for `deliver`. */
  execute(): Promise<void>;
  /** Delivers the reply, and lets the code that waits for it continue. */
  deliver(): Promise<void>;
  /** Executes the call and delivers its reply. */
  carryOut(): Promise<void>;
  /** Rejects the call, which is not executed. */
  refuse(error: Error): Promise<void>;
}

export interface HeldStore {
  readonly store: CountingStore;
  /** The waiting calls in order. The test removes a call before it carries it out. */
  readonly held: HeldCall[];
  /** Advances the clock, in milliseconds. */
  advance(ms: number): void;
}

/** Runs pending microtasks. */
export async function flushMicrotasks(): Promise<void> {
  for (let i = 0; i < 20; i += 1) await Promise.resolve();
}

/** Carries out all waiting calls in order, including those that they cause. */
export async function carryOutAll(held: HeldCall[]): Promise<void> {
  for (let next = held.shift(); next !== undefined; next = held.shift()) await next.carryOut();
}

/** Carries out all calls that a promise waits for, and returns its result. */
export async function resultOf<T>(held: HeldCall[], pending: Promise<T>): Promise<T> {
  await flushMicrotasks();
  await carryOutAll(held);
  return pending;
}

/** The same for a starting server, which may check the store and wait for more than promises. */
export async function started<T>(held: HeldCall[], starting: Promise<T>): Promise<T> {
  let isStarting = true;
  const over = starting.finally(() => {
    isStarting = false;
  });
  while (isStarting) {
    await carryOutAll(held);
    await setImmediate();
  }
  return over;
}

/** The error of a call whose keys are in several hash slots. */
export const CROSS_SLOT: Error = new HeadgateError("HEADGATE_STORE_MISCONFIGURED", "several slots");

/** A store in this process with one server for each hash slot, whose calls wait until the test carries them out. */
export function holdStore(slotOf: (key: string) => number): HeldStore {
  let now = 1_800_000_000_000;
  const memory = requireStore(memoryStore({ clock: () => now }));
  const held: HeldCall[] = [];
  const store = brandStore({
    owner: {},
    prefix: "hg",
    backend: redisBackend,
    transport: {
      send: (sent) => sendBy(store.run)(sent),
      hashSlotOf: slotOf,
      isCrossSlotError: (error) => error === CROSS_SLOT,
      nodeOf: (key) => `${slotOf(key)}`,
      refreshTopology() {},
      lastError: () => undefined,
    },
    now: () => now * 1_000,
    run<Call, Reply>(operation: Operation<Call, Reply>, call: Call) {
      return new Promise<Reply>((resolve, reject) => {
        let answer = (): void => {};
        const execute = async (): Promise<void> => {
          answer = await memory.run(operation, call).then(
            (reply) => () => resolve(reply),
            (error) => () => reject(error),
          );
        };
        const deliver = (): Promise<void> => {
          answer();
          return flushMicrotasks();
        };
        const carryOut = async (): Promise<void> => {
          await execute();
          await deliver();
        };
        const refuse = (error: Error): Promise<void> => {
          reject(error);
          return flushMicrotasks();
        };
        held.push({ name: operation.name, execute, deliver, carryOut, refuse });
      });
    },
  });
  return {
    store,
    held,
    advance(ms) {
      now += ms;
    },
  };
}
