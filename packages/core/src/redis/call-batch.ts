import { formatReceived, HeadgateError } from "../errors.ts";
import type { Step, Waiter } from "../store/store.ts";

/** A call of a step that waits for its reply. */
export interface PendingCall<Call = never> {
  readonly step: Step<Call>;
  readonly call: Call;
  readonly keys: readonly string[];
  /** How much work the call is for the server: 1 for a decision on one counter. */
  readonly weight: number;
  /** The clock that was given to the store, read when the call was made; empty for the server's own. */
  readonly clock: string;
  readonly waiter: Waiter | undefined;
  resolve(reply: readonly number[]): void;
  reject(error: unknown): void;
}

/** The keys of calls that go together, in order. */
export function joinKeys(calls: readonly PendingCall[]): readonly string[] {
  const [first] = calls;
  if (calls.length === 1 && first !== undefined) return first.keys;
  const keys: string[] = [];
  for (const call of calls) for (const key of call.keys) keys.push(key);
  return keys;
}

/** Gives each call of a step its part of the script's reply. Rejects a call with `HEADGATE_BAD_REPLY` if its part is missing or invalid. */
export function settleCalls(pending: readonly PendingCall[], reply: unknown): void {
  const { step } = pending[0] as PendingCall;
  const replies = step.read(
    pending.map(({ call }) => call),
    reply,
  );
  for (const [i, call] of pending.entries()) {
    const own = replies[i];
    if (own === undefined) call.reject(badReply(step.name, reply));
    else call.resolve(own);
  }
}

function badReply(name: string, reply: unknown): HeadgateError {
  return new HeadgateError(
    "HEADGATE_BAD_REPLY",
    `the script ${name} returned ${formatReceived(reply)}`,
  );
}
