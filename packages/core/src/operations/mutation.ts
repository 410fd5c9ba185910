import { COUNT_DIGITS, encodeDigits } from "../scripts/digits.ts";
import type { ScriptName } from "../scripts/script-argument.ts";
import type { Operation } from "../store/store.ts";
import type { CounterCall } from "./counter.ts";
import { counterOperation, encodeParameters, scriptsOf, weightOf } from "./counter.ts";
import { readInteger } from "./list-script.ts";

/** How an operation changes counters. */
interface MutationDefinition<Call extends CounterCall> {
  /** The part of a call's argument after the parameters of its counters, in digits. */
  encode(call: Call): string;
  /** The integers of a script's answer other than -1; undefined for an invalid one. By default an answer is one integer. */
  decode?(call: Call, answer: unknown): readonly number[] | undefined;
  /** The weight of each log, for `weightOf`. Default 4. */
  logWeight?(call: Call): number;
  readonly runInMemory: Operation<Call>["runInMemory"];
}

/** Defines an operation that changes counters with the script of this name. Its replies have no clock. */
export function defineMutation<Call extends CounterCall>(
  name: ScriptName,
  {
    encode,
    decode = (_, answer) => [readInteger(answer)],
    logWeight = () => 4,
    runInMemory,
  }: MutationDefinition<Call>,
): Operation<Call> {
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
      const answers: readonly unknown[] = Array.isArray(reply) ? reply : [];
      return calls.map((call, i) => {
        const answer = answers[i];
        const integers = readInteger(answer) === -1 ? [-1] : decode(call, answer);
        return integers?.every(Number.isSafeInteger) ? [0, ...integers] : undefined;
      });
    },
    weight: (call) => weightOf(call.counters, logWeight(call)),
    runInMemory,
  };
}

/** The integers of an answer that is a list of `size` integers; undefined for any other answer. */
export function readIntegers(answer: unknown, size: number): readonly number[] | undefined {
  return Array.isArray(answer) && answer.length === size ? answer.map(readInteger) : undefined;
}
