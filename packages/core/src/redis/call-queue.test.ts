import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { PendingCall } from "./call-batch.ts";
import { CallQueue, ENOUGH, MAX_TOGETHER } from "./call-queue.ts";

/** Scripts that were sent, each with the names of its calls; answered by hand. */
function startQueue() {
  const sent: { readonly names: readonly string[]; readonly answer: () => void }[] = [];
  let idle = 0;
  const queue = new CallQueue(
    (calls) =>
      new Promise((resolve) => {
        sent.push({ names: calls.map(({ keys }) => keys[0] as string), answer: resolve });
      }),
    () => {
      idle += 1;
    },
  );
  return {
    sent,
    names: () => sent.map(({ names }) => names),
    idle: () => idle,
    /** Adds calls by name. */
    add(...names: string[]) {
      for (const name of names) queue.add(call(name));
    },
    addCall: (pending: PendingCall) => queue.add(pending),
    async answer(script: number) {
      sent[script]?.answer();
      await tick();
    },
  };
}

function call(name: string, more: Partial<PendingCall> = {}): PendingCall {
  return {
    keys: [name],
    parameters: [],
    replySize: 1,
    clock: "",
    waiter: undefined,
    resolve() {},
    reject() {},
    ...more,
  };
}

/** Until everything that was put off to the end of this tick is done; no timer runs, and nothing is read. */
async function tick(): Promise<void> {
  for (let i = 0; i < 3; i += 1) await new Promise<void>((resolve) => process.nextTick(resolve));
}

function many(count: number, prefix = "c"): string[] {
  return Array.from({ length: count }, (_, i) => `${prefix}${i}`);
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

describe("a queue of calls", () => {
  test("sends a lone call in the tick in which it came", async () => {
    const { add, names } = startQueue();
    add("a");
    await tick();
    expect(names()).toEqual([["a"]]);
  });

  test("sends together, in order, what came in one tick", async () => {
    const { add, names } = startQueue();
    add("a", "b");
    // Whoever went on in a microtask belongs to the same tick.
    await Promise.resolve();
    add("c");
    await tick();
    expect(names()).toEqual([["a", "b", "c"]]);
  });

  test("gathers while a script is under way, and sends all of it once that is answered", async () => {
    const { add, names, answer } = startQueue();
    add("a");
    await tick();
    add("b");
    await nextTurn();
    add("c");
    await tick();
    expect(names()).toEqual([["a"]]);
    await answer(0);
    expect(names()).toEqual([["a"], ["b", "c"]]);
  });

  test("does not gather for longer than a millisecond", async () => {
    const { add, names } = startQueue();
    add("a");
    await tick();
    add("b");
    await tick();
    vi.advanceTimersByTime(1);
    expect(names()).toEqual([["a"], ["b"]]);
  });

  test("sends what is enough though a script is under way, half of it at a time", async () => {
    const { add, sent, answer } = startQueue();
    add("first");
    await tick();
    add(...many(ENOUGH - 1));
    await tick();
    expect(sent).toHaveLength(1);
    add(...many(ENOUGH + 1, "d"));
    await tick();
    expect(sent.map(({ names }) => names.length)).toEqual([1, ENOUGH, ENOUGH]);
    add(...many(ENOUGH + 5, "e"));
    await tick();
    expect(sent.map(({ names }) => names.length)).toEqual([1, ENOUGH, ENOUGH, ENOUGH]);
    // Something is still under way, so the rest is better kept for company.
    await answer(0);
    expect(sent).toHaveLength(4);
    for (const script of [1, 2, 3]) await answer(script);
    expect(sent[4]?.names).toEqual(many(ENOUGH + 5, "e").slice(-5));
  });

  test("sends no more than 64 together", async () => {
    const { add, sent } = startQueue();
    add(...many(4 * MAX_TOGETHER));
    await tick();
    expect(sent.map(({ names }) => names.length)).toEqual([64, 64, 64, 32, 32]);
    expect(sent.flatMap(({ names }) => names)).toEqual(many(4 * MAX_TOGETHER));
  });

  test("has sixteen scripts under way at most, and goes on with each answer", async () => {
    const { add, sent, answer } = startQueue();
    add(...many(20 * MAX_TOGETHER));
    await tick();
    expect(sent).toHaveLength(16);
    vi.advanceTimersByTime(100);
    expect(sent).toHaveLength(16);
    await answer(3);
    expect(sent).toHaveLength(17);
  });

  test("does not wait for ever for scripts whose answers are lost", async () => {
    const { add, sent } = startQueue();
    for (let script = 0; script < 16; script += 1) {
      add(...many(ENOUGH));
      await tick();
    }
    expect(sent).toHaveLength(16);
    add("late");
    vi.advanceTimersByTime(999);
    expect(sent).toHaveLength(16);
    vi.advanceTimersByTime(2);
    expect(sent[16]?.names).toEqual(["late"]);
  });

  test("sends nothing for those who gave up meanwhile", async () => {
    const { addCall, names, answer } = startQueue();
    const waiter = { isOver: false };
    addCall(call("a"));
    await tick();
    addCall(call("b", { waiter }));
    addCall(call("c", { waiter: { isOver: false } }));
    waiter.isOver = true;
    await answer(0);
    expect(names()).toEqual([["a"], ["c"]]);
  });

  test("sends nothing at all when all gave up, and is idle then", async () => {
    const { addCall, names, idle, answer } = startQueue();
    addCall(call("a"));
    await tick();
    addCall(call("b", { waiter: { isOver: true } }));
    expect(idle()).toBe(0);
    await answer(0);
    expect(names()).toEqual([["a"]]);
    expect(idle()).toBe(1);
  });

  test("bounds the keys of a script too", async () => {
    const { addCall, sent } = startQueue();
    const keys = many(40, "k");
    for (let i = 0; i < 20; i += 1) addCall(call(`k${i}`, { keys }));
    await tick();
    expect(sent.map(({ names }) => names.length)).toEqual([7]);
  });

  test("keeps calls of different moments apart, on a clock that was given", async () => {
    const { addCall, names, answer } = startQueue();
    for (const [name, clock] of [
      ["a", "1"],
      ["b", "1"],
      ["c", "2"],
      ["d", "1"],
    ] as const) {
      addCall(call(name, { clock }));
    }
    await tick();
    await answer(0);
    await answer(1);
    expect(names()).toEqual([["a", "b"], ["c"], ["d"]]);
  });
});
