import { readInteger } from "../../store/list-script.ts";
import type { Step } from "../../store/store.ts";
import { actionsKeyOf } from "./control-keys.ts";
import { redactLua } from "./lua.generated.ts";

/** Entries of a log that give way to others. */
export interface RedactCall {
  readonly prefix: string;
  /** Entries as they are kept, with their time, each with what takes its place. */
  readonly replacements: ReadonlyArray<readonly [entry: string, replacement: string]>;
}

/** Replaces entries of the log of actions. The reply says how many. */
export const redact: Step<RedactCall> = {
  name: "redact-actions",
  kind: "redact-actions",
  line: () => redactLua,
  prepare([call], clock) {
    const { replacements } = call as RedactCall;
    return { script: redactLua, args: [clock, "0", ...replacements.flat()] };
  },
  read(calls, reply) {
    const numbers: readonly number[] = Array.isArray(reply) ? reply.map(readInteger) : [];
    const isSound = numbers.length === 2 && numbers.every(Number.isSafeInteger);
    return calls.map(() => (isSound ? numbers : undefined));
  },
  keys: ({ prefix }) => [actionsKeyOf(prefix)],
  // As much as goes in one script: each goes alone.
  weight: () => 256,
  twin: (_, __, { now }) => [now, 0],
};
