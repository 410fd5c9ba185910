import { setImmediate } from "node:timers/promises";
import { expect, onTestFinished } from "vitest";

/** Watches for unhandled errors and rejections; the returned function fails the test if there were any. */
export function watchUnhandled(): () => Promise<void> {
  const seen: unknown[] = [];
  const note = (error: unknown) => {
    seen.push(error);
  };
  process.on("unhandledRejection", note).on("uncaughtException", note);
  onTestFinished(() => {
    process.off("unhandledRejection", note).off("uncaughtException", note);
  });
  return async () => {
    // Node reports a rejection after the microtasks of the turn in which it happened.
    await setImmediate();
    await setImmediate();
    expect(seen).toEqual([]);
  };
}
