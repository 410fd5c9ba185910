import { COUNT_DIGITS, encodeDigits } from "../scripts/digits.ts";
import type { ScriptName } from "../scripts/script-argument.ts";
import type { Operation } from "../store/store.ts";
import type { CounterCall } from "./counter.ts";
import { counterOperation, encodeParameters, scriptsOf, weightOf } from "./counter.ts";
import { readInteger, wrongTypeError } from "./list-script.ts";

interface MutationDefinition<Call extends CounterCall, Reply> {
  /** The part of a call's argument after the parameters of its counters, in digits. */
  encode(call: Call): string;
  /** Decodes a script's reply to one call; undefined for one that it never gives. */
  decode(call: Call, reply: unknown): Reply | undefined;
  /** The weight of each log, for `weightOf`. Default 4. */
  logWeight?(call: Call): number;
  readonly runInMemory: Operation<Call, Reply>["runInMemory"];
}

/** Defines an operation that changes counters with the script of this name. */
export function defineMutation<Call extends CounterCall, Reply>(
  name: ScriptName,
  { encode, decode, logWeight = () => 4, runInMemory }: MutationDefinition<Call, Reply>,
): Operation<Call, Reply> {
  return {
    ...counterOperation,
    name,
    encode: (calls, compose, clock, times = "") => ({
      script: scriptsOf((calls[0] as Call).counters).get(name, compose),
      args: [
        clock,
        ...calls.map(
          (call) =>
            encodeParameters(call.counters) + times + encodeDigits(1, COUNT_DIGITS) + encode(call),
        ),
      ],
    }),
    decode(calls, reply) {
      const replies: readonly unknown[] = Array.isArray(reply) ? reply : [];
      return calls.map((call, i) =>
        readInteger(replies[i]) === -1 ? wrongTypeError(call.counters) : decode(call, replies[i]),
      );
    },
    weight: (call) => weightOf(call.counters, logWeight(call)),
    runInMemory,
  };
}

/** Decodes the integer 1 as true, and any other as false; undefined for anything else. */
export function readFlag(reply: unknown): boolean | undefined {
  const integer = readInteger(reply);
  return Number.isSafeInteger(integer) ? integer === 1 : undefined;
}

/** The integers of a list of `size` integers; undefined for any other reply. */
export function readIntegers(reply: unknown, size: number): readonly number[] | undefined {
  if (!Array.isArray(reply) || reply.length !== size) return undefined;
  const integers = reply.map(readInteger);
  return integers.every(Number.isSafeInteger) ? integers : undefined;
}
