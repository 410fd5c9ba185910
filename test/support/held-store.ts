import { setImmediate } from "node:timers/promises";
import { HeadgateError, memoryStore } from "@headgate/core";
import type { CountingStore, Operation } from "@headgate/core/internal";
import { requireStore } from "@headgate/core/internal";
import { redisBackend } from "../../packages/core/src/limiter/redis-limiter.ts";
import { brandStore } from "../../packages/core/src/store/store.ts";
import { sendBy } from "./send-by.ts";

/** A call that has been made and is not carried out yet. */
export interface HeldCall {
  readonly name: string;
  /** Does what was asked; nobody hears of it before `deliver`. */
  execute(): Promise<void>;
  /** Answers, and lets all that follows from the answer be asked. */
  deliver(): Promise<void>;
  /** Both. */
  carryOut(): Promise<void>;
  /** Answers with an error; nothing is done. */
  refuse(error: Error): Promise<void>;
}

export interface HeldStore {
  readonly store: CountingStore;
  /** In the order in which they were made; whoever carries one out takes it off. */
  readonly held: HeldCall[];
  /** Lets time pass, in milliseconds. */
  advance(ms: number): void;
}

/** Lets everything run that waits for nothing but its turn. */
export async function flushMicrotasks(): Promise<void> {
  for (let i = 0; i < 20; i += 1) await Promise.resolve();
}

/** Carries out everything that is asked, in the order it was asked. */
export async function carryOutAll(held: HeldCall[]): Promise<void> {
  for (let next = held.shift(); next !== undefined; next = held.shift()) await next.carryOut();
}

/** The answer to something, for which everything that is asked is carried out. */
export async function resultOf<T>(held: HeldCall[], asked: Promise<T>): Promise<T> {
  await flushMicrotasks();
  await carryOutAll(held);
  return asked;
}

/** The same of a server that starts, which may ask whether the store is ready, and waits for more than promises. */
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

/** How the call is refused whose keys turn out to be in several slots. */
export const CROSS_SLOT: Error = new HeadgateError("HEADGATE_STORE_MISCONFIGURED", "several slots");

/** Servers in this process, each slot on one of its own. Each call is carried out when the test says so. */
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
    run<Call>(operation: Operation<Call>, call: Call) {
      return new Promise<readonly number[]>((resolve, reject) => {
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
