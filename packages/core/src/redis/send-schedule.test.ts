import { AsyncLocalStorage } from "node:async_hooks";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { SendSchedule } from "./send-schedule.ts";

/** A schedule, the names that were sent in each write, and a queue for each name. */
function startSchedule() {
  const writes: string[][] = [];
  let current: string[] | undefined;
  const schedule = new SendSchedule((send) => {
    current = [];
    writes.push(current);
    send();
    current = undefined;
  });
  const send = (name: string) => () => {
    if (current === undefined) writes.push([name]);
    else current.push(name);
  };
  return { schedule, writes, send };
}

test("queues that send at the same time share a write, in their order", async () => {
  const { schedule, writes, send } = startSchedule();
  for (const name of ["a", "b", "c"]) schedule.atEndOfTick(send(name));
  expect(writes).toEqual([]);
  await nextTurn();
  for (const name of ["d", "e"]) schedule.inNextTurn(send(name));
  await nextTurn();
  await nextTurn();
  expect(writes).toEqual([
    ["a", "b", "c"],
    ["d", "e"],
  ]);
});

test("a single queue sends at the end of the tick, unless the last write was shared", async () => {
  const { schedule, writes, send } = startSchedule();
  const sendAlone = async (name: string): Promise<number> => {
    schedule.atEndOfTick(send(name));
    await new Promise((resolve) => process.nextTick(resolve));
    return writes.length;
  };
  expect(await sendAlone("a")).toBe(1);
  for (const name of ["b", "c"]) schedule.atEndOfTick(send(name));
  await nextTurn();
  // The first one after that waits for others in this turn of the event loop.
  expect(await sendAlone("d")).toBe(2);
  await nextTurn();
  await nextTurn();
  expect(writes).toEqual([["a"], ["b", "c"], ["d"]]);
  expect(await sendAlone("e")).toBe(4);
});

test("the scripts of a single queue are in writes of their own", async () => {
  const { schedule, writes, send } = startSchedule();
  schedule.inNextTurn(() => {
    send("a")();
    send("b")();
  });
  await nextTurn();
  await nextTurn();
  expect(writes).toEqual([["a"], ["b"]]);
});

test("a queue that sends alone does so in the async context of its request, and several in that of none", async () => {
  const requests = new AsyncLocalStorage<number>();
  const schedule = new SendSchedule((send) => send());
  const seen: (number | undefined)[] = [];
  const sendFor = (request: number): void =>
    requests.run(request, () => schedule.atEndOfTick(() => seen.push(requests.getStore())));
  sendFor(1);
  await nextTurn();
  sendFor(2);
  sendFor(3);
  await nextTurn();
  // Collected for a turn.
  sendFor(4);
  await nextTurn();
  await nextTurn();
  expect(seen).toEqual([1, undefined, undefined, undefined]);
});
