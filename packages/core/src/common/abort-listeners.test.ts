import { getEventListeners } from "node:events";
import { describe, expect, test } from "vitest";
import { addAbortCallback } from "./abort-listeners.ts";

/** A signal, and how many listeners it has. */
function start() {
  const controller = new AbortController();
  const { signal } = controller;
  return { controller, signal, listeners: () => getEventListeners(signal, "abort").length };
}

describe("callbacks of one abort signal", () => {
  test("callbacks share one listener, which is removed with the last of them", () => {
    const { signal, listeners } = start();
    const leave = Array.from({ length: 50 }, () => addAbortCallback(signal, () => {}));
    expect(listeners()).toBe(1);
    for (const one of leave.splice(1)) one();
    expect(listeners()).toBe(1);
    leave[0]?.();
    expect(listeners()).toBe(0);
  });

  test("each remaining callback is called once, in order", () => {
    const { controller, signal, listeners } = start();
    const called: string[] = [];
    const leave = ["a", "b", "c"].map((name) => addAbortCallback(signal, () => called.push(name)));
    leave[1]?.();
    controller.abort();
    expect(called).toEqual(["a", "c"]);
    for (const one of leave) one();
    expect(listeners()).toBe(0);
  });

  test("a callback may be removed while callbacks run", () => {
    const { controller, signal } = start();
    const called: string[] = [];
    const leave = addAbortCallback(signal, () => {
      called.push("a");
      leave();
    });
    addAbortCallback(signal, () => called.push("b"));
    controller.abort();
    expect(called).toEqual(["a", "b"]);
  });

  test("a callback is called although another was removed twice", () => {
    const { controller, signal } = start();
    const called: string[] = [];
    const leave = addAbortCallback(signal, () => called.push("gone"));
    leave();
    addAbortCallback(signal, () => called.push("here"));
    leave();
    controller.abort();
    expect(called).toEqual(["here"]);
  });
});
