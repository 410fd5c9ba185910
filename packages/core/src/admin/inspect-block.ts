import { toMilliseconds } from "../common/time.ts";
import type { DecideCall } from "../operations/decide-call.ts";
import { peekBlock } from "../operations/peek-one.ts";
import type { SubjectCounter } from "../policy/counters.ts";
import { rejectWrongType } from "../policy/wrong-type.ts";
import type { Operation } from "../store/store.ts";
import type { SubjectBlock } from "./admin.ts";

/** Runs an operation on the server of the key. */
export type RunOperation = (
  operation: Operation<DecideCall>,
  call: DecideCall,
  key: string,
) => Promise<readonly number[]>;

/** The block of a counter; undefined if it has none. Rejects with `HEADGATE_WRONG_TYPE`, and with the errors of `run`. */
export async function inspectBlock(
  counter: SubjectCounter,
  run: RunOperation,
): Promise<SubjectBlock | undefined> {
  const call = { cost: 0, mode: "peek", counters: [counter] } as const;
  const reply = await run(peekBlock, call, counter.key);
  rejectWrongType(reply, [counter]);
  const [, rest = 0, setBy = 0] = reply;
  if (rest === 0) return undefined;
  const endsInMs = toMilliseconds(rest);
  const { dimension: per } = counter.group;
  return setBy === 0
    ? { per, endsInMs }
    : { per, limit: counter.limits[setBy - 1]?.name, endsInMs };
}
