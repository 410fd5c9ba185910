import type { Operation } from "../store/store.ts";
import { defineListOperation } from "./list-script.ts";
import { probeLua } from "./lua.generated.ts";

/** Checks that the server of a key can take decisions. The reply is 1. */
export const probe: Operation<string> = {
  ...defineListOperation<string>("probe", {
    source: probeLua,
    parameters: () => [],
    replySize: () => 1,
  }),
  keys: (key) => [key],
  weight: () => 1,
  runInMemory: (_, __, { now }) => [now, 1],
};

/** A key in the hash slot of a counter. It is not a counter's key: those have three parts after the subject. */
export function probeKeyFor(counterKey: string): string {
  return `${counterKey.slice(0, counterKey.indexOf("}") + 1)}:probe`;
}
