import { readInteger } from "../../store/list-script.ts";
import type { Step } from "../../store/store.ts";
import { readLua } from "./lua.generated.ts";
import { writeVersion } from "./record-text.ts";
import { bytesOf, withBytes } from "./text-reply.ts";

/** A record to read. */
export interface ReadCall {
  readonly key: string;
  /** The version that is known, 0 where it is known that there is no record; undefined where nothing is known. */
  readonly known: number | undefined;
}

/** What the step says of a record. */
export const READ_STATES = { known: 0, other: 1, tooLong: 2, damaged: 3, wrongType: -1 } as const;

/** Reads a control record. The reply has its state, as in `READ_STATES`, and the text of another version. */
export const read: Step<ReadCall> = {
  name: "read-control",
  kind: "read-control",
  line: () => readLua,
  prepare: (calls, clock) => ({
    script: readLua,
    args: [
      clock,
      "0",
      ...calls.map(({ known }) => (known === undefined ? "unknown" : writeVersion(known))),
    ],
  }),
  read(calls, reply) {
    const [clock, ...parts]: readonly unknown[] = Array.isArray(reply) ? reply : [];
    return calls.map((_, i) => {
      const head = [readInteger(clock), readInteger(parts[2 * i])];
      const bytes = bytesOf(parts[2 * i + 1]);
      return bytes && head.every(Number.isSafeInteger) ? withBytes(head, bytes) : undefined;
    });
  },
  keys: ({ key }) => [key],
  weight: () => 1,
  // What is in this process is known in it.
  twin: (_, __, { now }) => [now, 1],
};
