import { formatReceived, HeadgateError } from "../errors.ts";
import type { Waiter } from "../store/store.ts";

/** A call of a step that waits for its reply. */
export interface PendingCall {
  readonly keys: readonly string[];
  readonly parameters: readonly (string | number)[];
  /** How many integers the script returns for it. */
  readonly replySize: number;
  /** How much work it is for the server: 1 for a decision on one counter. */
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

/**
 * The arguments of calls that go together, as call.lua reads them: those that follow each other with equal arguments come as
 * their number and their arguments once, because each argument costs the server about as much as a decision's arithmetic.
 */
export function joinArguments(calls: readonly PendingCall[]): string[] {
  const [first] = calls;
  const birth = Math.floor(Math.random() * 2 ** 48);
  const args = [first?.clock ?? "", String(birth)];
  for (let from = 0; from < calls.length; ) {
    const { parameters } = calls[from] as PendingCall;
    let to = from + 1;
    while (to < calls.length && isEqual((calls[to] as PendingCall).parameters, parameters)) to += 1;
    args.push(String(to - from));
    for (const parameter of parameters) args.push(String(parameter));
    from = to;
  }
  return args;
}

/**
 * Hands each call its part of the script's reply, behind the clock. Rejects with `HEADGATE_BAD_REPLY` whose part holds
 * something that is no integer, and all when there are not as many as there should be.
 */
export function settleCalls(name: string, calls: readonly PendingCall[], reply: unknown): void {
  const values: readonly unknown[] = Array.isArray(reply) ? reply : [];
  const expected = calls.reduce((sum, { replySize }) => sum + replySize, 1);
  if (values.length !== expected) {
    const error = badReply(name, reply);
    for (const call of calls) call.reject(error);
    return;
  }
  let from = 0;
  for (const call of calls) {
    // One more in front, which the clock takes.
    const part = values.slice(from, from + call.replySize + 1);
    part[0] = values[0];
    from += call.replySize;
    const own = areIntegers(part) ? part : part.map(readInteger);
    if (areIntegers(own)) call.resolve(own);
    else call.reject(badReply(name, part));
  }
}

function areIntegers(values: readonly unknown[]): values is readonly number[] {
  return values.every(Number.isSafeInteger);
}

/** A client may be set to hand numbers over as strings. */
function readInteger(value: unknown): number {
  return /^-?\d+$/.test(String(value)) ? Number(value) : Number.NaN;
}

function badReply(name: string, reply: unknown): HeadgateError {
  return new HeadgateError(
    "HEADGATE_BAD_REPLY",
    `the script ${name} returned ${formatReceived(reply)}`,
  );
}

function isEqual(a: PendingCall["parameters"], b: PendingCall["parameters"]): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i += 1) if (a[i] !== b[i]) return false;
  return true;
}
