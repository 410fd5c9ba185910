import { readInteger } from "../../store/list-script.ts";
import type { Step } from "../../store/store.ts";
import { actionsKeyOf, recordKeyOf } from "./control-keys.ts";
import { changeLua } from "./lua.generated.ts";
import { writeVersion } from "./record-text.ts";

/** A change of a record. */
export interface ChangeCall {
  readonly prefix: string;
  /** The version that is changed; 0 where there was no record. */
  readonly version: number;
  /** The record, without its version. A negative time is one from the moment of the change, in microseconds. */
  readonly body: string;
  /** For how many milliseconds it is kept; undefined for as long as nobody changes it. */
  readonly keptMs: number | undefined;
  /** What the log of actions gets, without its time. */
  readonly entry: string;
}

/** Changes a control record, and appends to the log. The reply says its new version, or 0 where another one was there. */
export const change: Step<ChangeCall> = {
  name: "change-control",
  kind: "change-control",
  line: () => changeLua,
  prepare([call], clock) {
    const { version, body, keptMs = "", entry } = call as ChangeCall;
    const args = [clock, "0", writeVersion(version), body, String(keptMs), entry];
    return { script: changeLua, args };
  },
  read(calls, reply) {
    const numbers: readonly number[] = Array.isArray(reply) ? reply.map(readInteger) : [];
    const isSound = numbers.length === 2 && numbers.every(Number.isSafeInteger);
    return calls.map(() => (isSound ? numbers : undefined));
  },
  keys: ({ prefix }) => [recordKeyOf(prefix), actionsKeyOf(prefix)],
  // As much as goes in one script: each goes alone.
  weight: () => 256,
  twin: (_, __, { now }) => [now, 0],
};
