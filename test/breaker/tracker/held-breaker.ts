import type { Breaker, BreakerOptions } from "@headgate/breaker";
import { createBreaker } from "@headgate/breaker";
import { memoryStore } from "@headgate/core";
import type { CountingStore, Operation } from "@headgate/core/internal";
import { requireStore } from "@headgate/core/internal";
import { vi } from "vitest";
import { composeScript } from "../../../packages/core/src/scripts/compose-script.ts";
import { brandStore } from "../../../packages/core/src/store/store.ts";
import { sendBy } from "../../support/send-by.ts";

/** A call of the store that waits until the test executes it. */
export interface HeldCall {
  /** `sync-target`, `set-target-state`, or `probe` of an unavailable store. */
  readonly operation: string;
  readonly key: string;
  /** The arguments of sync-target.lua after the policy: the period, the outcomes, a lease and its outcome, whether it requests a call. */
  readonly args: readonly string[];
  /** Executes the call; its reply waits for `deliver`. */
  execute(): Promise<void>;
  deliver(): Promise<void>;
  /** Executes the call and delivers its reply. */
  complete(): Promise<void>;
  fail(error: Error): Promise<void>;
  /** Delivers another reply. */
  reply(reply: readonly number[]): Promise<void>;
}

export interface HeldBreaker<Result> {
  readonly breaker: Breaker<Result>;
  /** The breaker of another process, whose calls are executed at once. */
  readonly peer: Breaker<Result>;
  readonly options: BreakerOptions<Result>;
  /** In the order in which they were made. */
  readonly held: HeldCall[];
  /** Removes the only held call and returns it. */
  take(): HeldCall;
}

/** Runs all pending microtasks. */
export async function flushMicrotasks(): Promise<void> {
  for (let i = 0; i < 60; i += 1) await Promise.resolve();
}

/** A breaker on a store in this process whose calls wait for the test. Its clock is that of vitest's timers, which must be fake. */
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
        held.push(holdCall(memory, operation as never, call, resolve as never, reject));
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
  let deliverReply = (): void => {};
  const execute = async (): Promise<void> => {
    const reply = await memory.run(operation, call);
    deliverReply = () => resolve(reply);
  };
  const deliver = (): Promise<void> => {
    deliverReply();
    return flushMicrotasks();
  };
  return {
    operation: operation.name,
    key: operation.keys(call)[0] as string,
    args: operation.encode([call], composeScript, "").args.slice(4),
    execute,
    deliver,
    async complete() {
      await execute();
      await deliver();
    },
    fail(error) {
      reject(error);
      return flushMicrotasks();
    },
    reply(reply) {
      resolve(reply);
      return flushMicrotasks();
    },
  };
}

/** Advances time by milliseconds, and runs the timers that are due. */
export async function advance(ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms);
  await flushMicrotasks();
}
