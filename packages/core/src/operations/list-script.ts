import type { LuaSource } from "../algorithms/algorithm.ts";
import { HeadgateError } from "../common/errors.ts";
import type { Integers, Operation } from "../store/store.ts";

/** The arguments and results of a script that is not composed. */
interface ListScript<Call> {
  readonly source: LuaSource;
  /** The arguments of a call, exactly as many as the script reads. */
  parameters(call: Call): readonly (string | number)[];
  /** The number of integers that the script returns for a call. */
  replySize(call: Call): number;
}

/** Decodes the list of integers: for each call the clock and its own integers; undefined for all if the list has another length. */
interface ListDecoder<Call> {
  decode(calls: readonly Call[], reply: unknown): ReadonlyArray<Integers | undefined>;
}

/**
 * Defines the parts of an operation whose script follows the conventions of call.lua: it takes a list of calls and returns
 * one list of integers.
 */
export function defineListOperation<Call>(
  name: string,
  { source, parameters, replySize }: ListScript<Call>,
): Pick<Operation<Call>, "name" | "kind" | "batchKey" | "encode"> & ListDecoder<Call> {
  return {
    name,
    kind: name,
    batchKey: () => source,
    encode: (calls, _, clock) => ({
      script: source,
      args: encodeArguments(calls.map(parameters), clock),
    }),
    decode: (calls, reply) => decodeList(calls.map(replySize), reply),
  };
}

type CallParameters = readonly (string | number)[];

/**
 * Encodes consecutive equal calls as their number and the arguments of one, because each argument costs the server about as
 * much as the arithmetic of a decision.
 */
function encodeArguments(calls: readonly CallParameters[], clock: string): string[] {
  const runs = coalesce(calls, isEqual);
  const args = runs.flatMap(({ first, count }) => [String(count), ...first.map(String)]);
  return [clock, String(Math.floor(Math.random() * 2 ** 48)), ...args];
}

function decodeList(sizes: readonly number[], reply: unknown): ReadonlyArray<Integers | undefined> {
  const values: readonly unknown[] = Array.isArray(reply) ? reply.map(readInteger) : [];
  if (values.length !== sizes.reduce((sum, size) => sum + size, 1))
    return sizes.map(() => undefined);
  let from = 1;
  return sizes.map((size) => {
    const callReply = [values[0], ...values.slice(from, from + size)];
    from += size;
    return callReply.every(Number.isSafeInteger) ? (callReply as Integers) : undefined;
  });
}

function isEqual(a: CallParameters, b: CallParameters): boolean {
  return a === b || (a.length === b.length && a.every((parameter, i) => parameter === b[i]));
}

/** Reads an integer, also from text, because a client may be configured to return numbers as strings. `NaN` for anything else. */
export function readInteger(value: unknown): number {
  if (typeof value === "number") return value;
  return /^-?\d+$/.test(String(value)) ? Number(value) : Number.NaN;
}

/** Consecutive equal items. */
export interface Run<Item> {
  readonly first: Item;
  readonly count: number;
}

/** Groups consecutive equal items, in their order: the server receives equal calls once, with their number. */
export function coalesce<Item>(
  items: readonly Item[],
  isEqual: (one: Item, other: Item) => boolean,
): Run<Item>[] {
  const runs: Run<Item>[] = [];
  for (let from = 0; from < items.length; ) {
    const first = items[from] as Item;
    let to = from + 1;
    while (to < items.length && isEqual(first, items[to] as Item)) to += 1;
    runs.push({ first, count: to - from });
    from = to;
  }
  return runs;
}

/** The error of a call that did nothing, because one of its keys holds a value that Headgate did not write. */
export function wrongTypeError(counters: readonly { readonly key: string }[]): HeadgateError {
  return new HeadgateError(
    "HEADGATE_WRONG_TYPE",
    "a key of this subject holds a value that is not Headgate's: give the store another prefix, or delete the key (the cause names it)",
    { cause: { keys: counters.map(({ key }) => key) } },
  );
}

/** Throws `HEADGATE_WRONG_TYPE` if the integers of a script, after its clock, begin with -1: then it did nothing. */
export function rejectWrongType(
  reply: readonly number[],
  counters: readonly { readonly key: string }[],
): void {
  if (reply[1] === -1) throw wrongTypeError(counters);
}
