import { COUNT_DIGITS, digitsOf } from "../scripts/digits.ts";
import type { ScriptName } from "../scripts/script-argument.ts";
import type { Operation } from "../store/store.ts";
import type { CounterCall } from "./counter.ts";
import { numbersOf, onCounters, scriptsOf, weightOf } from "./counter.ts";
import { readInteger } from "./list-script.ts";

/** How a step changes counters. */
interface Change<Call extends CounterCall> {
  /** The part of a call's argument after the numbers of its counters, in digits. */
  write(call: Call): string;
  /** The integers of an answer that is not -1; undefined for an impossible one. By default an answer is one integer. */
  read?(call: Call, answer: unknown): readonly number[] | undefined;
  /** The weight of a log, for `weightOf`. Default 4. */
  logWeight?(call: Call): number;
  readonly twin: Operation<Call>["twin"];
}

/** A step that changes counters with the script of this name, one call after another. Its replies have no clock. */
export function changeStep<Call extends CounterCall>(
  name: ScriptName,
  { write, read = (_, answer) => [readInteger(answer)], logWeight = () => 4, twin }: Change<Call>,
): Operation<Call> {
  return {
    ...onCounters,
    name,
    prepare: (calls, compose, clock, times = "") => ({
      script: scriptsOf((calls[0] as Call).counters).get(name, compose),
      args: [
        clock,
        ...calls.map(
          (call) => numbersOf(call.counters) + times + digitsOf(1, COUNT_DIGITS) + write(call),
        ),
      ],
    }),
    read(calls, reply) {
      const answers: readonly unknown[] = Array.isArray(reply) ? reply : [];
      return calls.map((call, i) => {
        const answer = answers[i];
        const integers = readInteger(answer) === -1 ? [-1] : read(call, answer);
        return integers?.every(Number.isSafeInteger) ? [0, ...integers] : undefined;
      });
    },
    weight: (call) => weightOf(call.counters, logWeight(call)),
    twin,
  };
}

/** The integers of an answer with this many; undefined for another answer. */
export function integersIn(answer: unknown, size: number): readonly number[] | undefined {
  return Array.isArray(answer) && answer.length === size ? answer.map(readInteger) : undefined;
}
