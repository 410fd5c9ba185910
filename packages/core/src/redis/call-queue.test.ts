import { setImmediate as nextTurn } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { probe } from "../operations/probe.ts";
import type { Operation, PendingCall } from "../store/store.ts";
import { CallQueue, FULL_BATCH, MAX_BATCH_CALLS } from "./call-queue.ts";
import { SendSchedule } from "./send-schedule.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

/** The schedule of a client that writes each command by itself. */
const separately = new SendSchedule((send) => send());

/** Scripts that were sent, each with the names of its calls; answered by hand. */
function startQueue() {
  const sent: { readonly names: readonly string[]; readonly answer: () => void }[] = [];
  let idle = 0;
  const queue = new CallQueue(
    (calls, onEnd) => {
      sent.push({ names: calls.map(({ keys }) => keys[0] as string), answer: onEnd });
    },
    separately,
    () => {
      idle += 1;
    },
  );
  return {
    queue,
    sent,
    names: () => sent.map(({ names }) => names),
    idle: () => idle,
    /** Adds calls by name. */
    add(...names: string[]) {
      for (const name of names) queue.add(call(name));
    },
    addCall: (pending: PendingCall) => queue.add(pending),
    async answer(...scripts: number[]) {
      for (const script of scripts) sent[script]?.answer();
      await turn();
    },
    /** Lets four scripts of one call each be under way. */
    async fill() {
      for (const name of ["w", "x", "y", "z"]) {
        queue.add(call(name));
        await turn();
      }
    },
  };
}

function call(name: string, more: Partial<PendingCall> = {}): PendingCall {
  return {
    operation: probe as Operation<never>,
    call: name as never,
    keys: [name],
    weight: 1,
    clock: "",
    isAbandoned: false,
    resolve() {},
    reject() {},
    ...more,
  };
}

/** Until everything that was put off to the end of this tick is done; no timer runs, and nothing is read. */
async function tick(): Promise<void> {
  for (let i = 0; i < 3; i += 1) await new Promise<void>((resolve) => process.nextTick(resolve));
}

/** Until all that was put off to the end of this turn of the event loop is done as well. */
async function turn(): Promise<void> {
  await tick();
  await nextTurn();
  await tick();
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
  test("a single call is sent in the tick in which it was made", async () => {
    const { add, names } = startQueue();
    add("a");
    await tick();
    expect(names()).toEqual([["a"]]);
  });

  test("single calls one after another are each sent in their tick", async () => {
    const { add, names, answer } = startQueue();
    for (const [script, name] of ["a", "b", "c"].entries()) {
      add(name);
      await tick();
      expect(names()).toHaveLength(script + 1);
      await answer(script);
    }
  });

  test("a call that is made because of a reply is sent in the same tick", async () => {
    const { add, names, sent } = startQueue();
    add("a");
    await tick();
    sent[0]?.answer();
    add("b");
    await tick();
    expect(names()).toEqual([["a"], ["b"]]);
  });

  test("calls made in one tick are sent together, in order", async () => {
    const { add, names } = startQueue();
    add("a", "b");
    // A call made in a microtask belongs to the same tick.
    await Promise.resolve();
    add("c");
    await tick();
    expect(names()).toEqual([["a", "b", "c"]]);
  });

  test("after a batch, calls are collected until the end of the event loop's turn", async () => {
    const { add, names, answer } = startQueue();
    add("a", "b");
    await turn();
    await answer(0);
    add("c");
    await tick();
    add("d");
    await tick();
    expect(names()).toEqual([["a", "b"]]);
    await turn();
    expect(names()).toEqual([
      ["a", "b"],
      ["c", "d"],
    ]);
  });

  test("calls are collected while four scripts are in flight, and sent once one is answered", async () => {
    const { add, names, fill, answer } = startQueue();
    await fill();
    add("a");
    await turn();
    add("b");
    await turn();
    expect(names()).toEqual([["w"], ["x"], ["y"], ["z"]]);
    await answer(2);
    expect(names()).toEqual([["w"], ["x"], ["y"], ["z"], ["a", "b"]]);
  });

  test("calls are collected for at most a millisecond", async () => {
    const { add, sent, fill } = startQueue();
    await fill();
    add("a", "b");
    await turn();
    expect(sent).toHaveLength(4);
    vi.advanceTimersByTime(1);
    expect(sent[4]?.names).toEqual(["a", "b"]);
  });

  test("a full batch is sent even if four scripts are in flight, half of the calls at a time", async () => {
    const { add, sent, fill, answer } = startQueue();
    await fill();
    add(...many(FULL_BATCH - 1));
    await turn();
    expect(sent).toHaveLength(4);
    add("one more");
    await turn();
    expect(sent[4]?.names).toEqual([...many(FULL_BATCH - 1), "one more"]);
    add(...many(2 * FULL_BATCH + 5, "d"));
    await turn();
    expect(sent.slice(5).map(({ names }) => names.length)).toEqual([35, 32]);
    add("late");
    await answer(0, 1);
    expect(sent).toHaveLength(7);
    await answer(2, 3);
    expect(sent[7]?.names).toEqual(["d67", "d68", "late"]);
  });

  test("a batch has at most 64 calls", async () => {
    const { add, sent } = startQueue();
    add(...many(4 * MAX_BATCH_CALLS));
    await turn();
    expect(sent.map(({ names }) => names.length)).toEqual([64, 64, 64, 32, 32]);
    expect(sent.flatMap(({ names }) => names)).toEqual(many(4 * MAX_BATCH_CALLS));
  });

  test("at most sixteen scripts are in flight, and each reply makes room for another", async () => {
    const { add, sent, answer } = startQueue();
    add(...many(20 * MAX_BATCH_CALLS));
    await turn();
    expect(sent).toHaveLength(16);
    vi.advanceTimersByTime(100);
    await turn();
    expect(sent).toHaveLength(16);
    await answer(3);
    expect(sent).toHaveLength(17);
  });

  test("scripts whose replies are lost do not hold the queue up for ever", async () => {
    const { add, sent } = startQueue();
    for (let script = 0; script < 16; script += 1) {
      add(...many(FULL_BATCH));
      await turn();
    }
    expect(sent).toHaveLength(16);
    add("late");
    vi.advanceTimersByTime(999);
    expect(sent).toHaveLength(16);
    vi.advanceTimersByTime(2);
    expect(sent[16]?.names).toEqual(["late"]);
  });

  test("abandoned calls are not sent, unless they are fire-and-forget", async () => {
    const { addCall, sent, fill, answer } = startQueue();
    const a = call("a");
    const report = call("c", { operation: { ...a.operation, isFireAndForget: true } });
    await fill();
    for (const one of [a, call("b"), report]) addCall(one);
    Object.assign(a, { isAbandoned: true });
    Object.assign(report, { isAbandoned: true });
    await answer(0);
    await answer(1);
    expect(sent.slice(4).map(({ names }) => names)).toEqual([["b"], ["c"]]);
  });

  test("a queue whose calls are all abandoned sends nothing, and is idle", async () => {
    const { addCall, sent, fill, idle, answer } = startQueue();
    await fill();
    addCall(call("a", { isAbandoned: true }));
    expect(idle()).toBe(0);
    await answer(0, 1, 2, 3);
    expect(sent).toHaveLength(4);
    expect(idle()).toBeGreaterThan(0);
  });

  test("the weight of a script is limited, and a heavier call is sent alone", async () => {
    const { addCall, sent } = startQueue();
    for (let i = 0; i < 20; i += 1) addCall(call(`c${i}`, { weight: 40 }));
    await turn();
    expect(sent.map(({ names }) => names.length)).toEqual([6, 6, 6, 2]);
    addCall(call("light"));
    addCall(call("heavy", { weight: 1_000 }));
    await turn();
    vi.advanceTimersByTime(1);
    vi.advanceTimersByTime(1);
    await turn();
    expect(sent.slice(4).map(({ names }) => names)).toEqual([["light"], ["heavy"]]);
  });

  test("a queue does not keep answered calls in memory", async () => {
    const { addCall, sent, answer } = startQueue();
    const calls = Array.from({ length: 100 }, (_, i) => {
      const one = call(`c${i}`);
      addCall(one);
      return new WeakRef(one);
    });
    await turn();
    await answer(...sent.keys());
    await nextTurn();
    collectGarbage();
    expect(calls.filter((one) => one.deref() !== undefined)).toEqual([]);
    addCall(call("one more"));
    await turn();
    expect(sent.at(-1)?.names).toEqual(["one more"]);
  });

  test("flush sends all waiting calls", async () => {
    const { queue, add, sent, fill } = startQueue();
    await fill();
    add("a", "b");
    queue.flush();
    expect(sent[4]?.names).toEqual(["a", "b"]);
    await turn();
    expect(sent).toHaveLength(5);
  });

  test("on a custom clock, calls of different times are sent separately", async () => {
    const { addCall, names } = startQueue();
    for (const [name, clock] of [
      ["a", "1"],
      ["b", "1"],
      ["c", "2"],
      ["d", "1"],
    ] as const) {
      addCall(call(name, { clock }));
    }
    await turn();
    expect(names()).toEqual([["a", "b"], ["c"], ["d"]]);
  });
});
