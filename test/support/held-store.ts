import type { Step, Store } from "@headgate/core";
import { memoryStore } from "@headgate/core";

/** A call that has been made and is not carried out yet. */
export interface HeldCall {
  readonly name: string;
  /** Does what was asked; nobody hears of it before `deliver`. */
  execute(): Promise<void>;
  /** Answers, and lets all that follows from the answer be asked. */
  deliver(): Promise<void>;
  /** Both. */
  carryOut(): Promise<void>;
}

export interface HeldStore {
  readonly store: Store;
  /** In the order in which they were made; whoever carries one out takes it off. */
  readonly held: HeldCall[];
  /** Lets time pass, in milliseconds. */
  pass(ms: number): void;
}

/** Lets everything run that waits for nothing but its turn. */
export async function letRun(): Promise<void> {
  for (let i = 0; i < 20; i += 1) await Promise.resolve();
}

/** Servers in this process, each slot on one of its own. Each call is carried out when the test says so. */
export function holdStore(slotOf: (key: string) => number): HeldStore {
  let now = 1_800_000_000_000;
  const memory = memoryStore({ clock: () => now });
  const held: HeldCall[] = [];
  const store: Store = {
    owner: {},
    prefix: "hg",
    remote: {
      slotOf,
      nodeOf: (key) => `${slotOf(key)}`,
      refresh() {},
      lastError: () => undefined,
    },
    now: () => now * 1_000,
    run<Call>(step: Step<Call>, call: Call) {
      return new Promise<readonly number[]>((resolve, reject) => {
        let answer = (): void => {};
        const execute = async (): Promise<void> => {
          answer = await memory.run(step, call).then(
            (reply) => () => resolve(reply),
            (error) => () => reject(error),
          );
        };
        const deliver = (): Promise<void> => {
          answer();
          return letRun();
        };
        const carryOut = async (): Promise<void> => {
          await execute();
          await deliver();
        };
        held.push({ name: step.name, execute, deliver, carryOut });
      });
    },
  };
  return {
    store,
    held,
    pass(ms) {
      now += ms;
    },
  };
}
