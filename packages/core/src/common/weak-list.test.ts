import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test, vi } from "vitest";
import { WeakList } from "./weak-list.ts";

setFlagsFromString("--expose-gc");
/** Collects garbage in a turn of its own, so that references on the stack hold nothing. */
const collectGarbage = runInNewContext('() => gc({ execution: "async" })') as () => Promise<void>;

test("a list of 63 collected objects drops them when another is added", async () => {
  const onEmpty = vi.fn();
  const list = new WeakList<object>(onEmpty);
  for (let i = 0; i < 63; i += 1) list.add({});
  await new Promise(setImmediate);
  await collectGarbage();
  const remove = list.add({});
  remove();
  expect(onEmpty).toHaveBeenCalledTimes(1);
});
