import { readInteger } from "../../store/list-script.ts";
import type { Step } from "../../store/store.ts";
import { actionsKeyOf } from "./control-keys.ts";
import { actionsLua } from "./lua.generated.ts";
import { bytesOf, withBytes } from "./text-reply.ts";

/** Reads the log of actions of a prefix. The reply says 1, and the bytes of the entries, the last action first, a line each. */
export const actions: Step<string> = {
  name: "read-actions",
  kind: "read-actions",
  line: () => actionsLua,
  prepare: (_, clock) => ({ script: actionsLua, args: [clock, "0"] }),
  read(calls, reply) {
    const [clock, status, text]: readonly unknown[] = Array.isArray(reply) ? reply : [];
    const head = [readInteger(clock), readInteger(status)];
    const bytes = bytesOf(text);
    return calls.map(() =>
      bytes && head.every(Number.isSafeInteger) ? withBytes(head, bytes) : undefined,
    );
  },
  keys: (prefix) => [actionsKeyOf(prefix)],
  // As much as goes in one script: each goes alone.
  weight: () => 256,
  twin: (_, __, { now }) => [now, 1],
};
