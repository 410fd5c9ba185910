import { expect, onTestFinished, test, vi } from "vitest";
import { callAt } from "./key-queue.ts";

test("a time that has passed is called back at once, without a negative delay, of which Node warns", async () => {
  const setTimer = vi.spyOn(globalThis, "setTimeout");
  onTestFinished(() => setTimer.mockRestore());
  const called = new Promise<void>((resolve) => callAt(performance.now() - 5_000, resolve));
  expect(setTimer.mock.calls.map(([, delay]) => delay)).toEqual([0]);
  await called;
});
