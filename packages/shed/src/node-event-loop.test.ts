import { expect, onTestFinished, test, vi } from "vitest";

test("the Unix time of a process is that of its machine, also after the machine's clock has been set", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: 1_700_000_000_000 });
  onTestFinished(() => void vi.useRealTimers());
  // It keeps the functions that it finds when it is loaded.
  vi.resetModules();
  const { nodeEventLoop } = await import("./node-event-loop.ts");
  expect(nodeEventLoop.date()).toBe(1_700_000_000_000);
  vi.setSystemTime(1_700_003_600_000);
  expect(nodeEventLoop.date()).toBe(1_700_003_600_000);
});
