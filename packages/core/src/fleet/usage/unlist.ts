import { runList } from "../../store/list-script.ts";
import type { Step } from "../../store/store.ts";
import { KEPT, LONG_SPAN, topsKey } from "./add-usage.ts";
import { unlistLua } from "./lua.generated.ts";

/** Subjects to be erased from lists of a limiter. */
export interface UnlistCall {
  readonly prefix: string;
  /** The characters that name the limiter in keys. */
  readonly id: string;
  /** The numbers of the ten minutes that the lists are of. */
  readonly spans: readonly number[];
  /** The server's clock, in microseconds: says when the lists end. */
  readonly now: number;
  /** The subjects, as lists have them. */
  readonly items: readonly string[];
}

/** Erases subjects from lists. The reply says from how many. What is no list of usage, and no string, stays. */
export const unlist: Step<UnlistCall> = {
  ...runList("unlist", {
    source: unlistLua,
    parameters: ({ spans, now, items }: UnlistCall) => [
      spans.length,
      ...spans.map((span) => Math.max(0, (span + 1) * LONG_SPAN + KEPT - Math.round(now))),
      items.length,
      ...items,
    ],
    replySize: () => 1,
  }),
  keys: ({ prefix, id, spans }) => spans.map((span) => topsKey(prefix, id, span)),
  // Each goes alone.
  weight: () => 256,
  // Nobody keeps usage in the memory of a process.
  twin: (_, __, { now }) => [now, 0],
};
