import type { Breaker, BreakerOptions } from "@headgate/breaker";
import { createBreaker } from "@headgate/breaker";
import { memoryStore } from "@headgate/core";
import type { CountingStore, Operation } from "@headgate/core/internal";
import { requireStore } from "@headgate/core/internal";
import { vi } from "vitest";
import { composeScript } from "../../../packages/core/src/scripts/compose-script.ts";
import { brandStore } from "../../../packages/core/src/store/store.ts";
import { sendBy } from "../../support/send-by.ts";

/** A call of the store that was made, and is carried out when the test says so. */
export interface HeldCall {
  /** `sync-target`, `set-target-state`, or `probe` of a store that is away. */
  readonly step: string;
  readonly key: string;
  /** What it says, in the words of sync-target.lua: the period, the outcomes, a lease and its outcome, whether a call is asked for. */
  readonly words: readonly string[];
  /** Does what was asked; nobody hears of it before `deliver`. */
  execute(): Promise<void>;
  deliver(): Promise<void>;
  /** Both. */
  carryOut(): Promise<void>;
  fail(error: Error): Promise<void>;
  /** Answers something else. */
  answer(reply: readonly number[]): Promise<void>;
}

export interface HeldBreaker<Result> {
  readonly breaker: Breaker<Result>;
  /** The breaker of another process, whose calls are carried out at once. */
  readonly peer: Breaker<Result>;
  readonly options: BreakerOptions<Result>;
  /** In the order in which they were made. */
  readonly held: HeldCall[];
  /** Takes off the only call that is held. */
  take(): HeldCall;
}

/** Lets everything run that waits for nothing but its turn. */
export async function letRun(): Promise<void> {
  for (let i = 0; i < 60; i += 1) await Promise.resolve();
}

/** A breaker on a server in this process, which the test holds. Time is that of vitest's timers, which have to be fake. */
export function holdBreaker<Result = unknown>(
  chosen: BreakerOptions<Result> = {},
): HeldBreaker<Result> {
  const memory = requireStore(memoryStore({ clock: () => Date.now() }));
  const now = (): number => Date.now() * 1_000;
  const held: HeldCall[] = [];
  const store = brandStore({
    owner: {},
    prefix: "hg",
    transport: {
      send: (sent) => sendBy(store.run)(sent),
      hashSlotOf: () => 0,
      isCrossSlotError: () => false,
      nodeOf: () => "",
      refreshTopology() {},
      lastError: () => undefined,
    },
    now,
    run: (operation, call) =>
      new Promise((resolve, reject) => {
        held.push(holdCall(memory, operation, call, resolve, reject));
      }),
  });
  const options = { name: "payments", store, minimumCalls: 4, trialCalls: 2, ...chosen };
  const served = brandStore({ owner: {}, prefix: "hg", now, run: memory.run });
  return {
    breaker: createBreaker<Result>(options),
    peer: createBreaker<Result>({ ...options, store: served }),
    options,
    held,
    take() {
      const [call, ...others] = held.splice(0);
      if (call === undefined || others.length > 0) {
        throw new Error(`${others.length + (call === undefined ? 0 : 1)} calls are held, not one`);
      }
      return call;
    },
  };
}

function holdCall<Call>(
  memory: CountingStore,
  operation: Operation<Call>,
  call: Call,
  resolve: (reply: readonly number[]) => void,
  reject: (error: Error) => void,
): HeldCall {
  let answer = (): void => {};
  const execute = async (): Promise<void> => {
    const reply = await memory.run(operation, call);
    answer = () => resolve(reply);
  };
  const deliver = (): Promise<void> => {
    answer();
    return letRun();
  };
  return {
    step: operation.name,
    key: operation.keys(call)[0] as string,
    words: operation.encode([call], composeScript, "").args.slice(4),
    execute,
    deliver,
    async carryOut() {
      await execute();
      await deliver();
    },
    fail(error) {
      reject(error);
      return letRun();
    },
    answer(reply) {
      resolve(reply);
      return letRun();
    },
  };
}

/** Lets time pass, in milliseconds, with all that happens in it. */
export async function pass(ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms);
  await letRun();
}
