import { expect, onTestFinished, test, vi } from "vitest";
import { recordServerTime, serverNow } from "./server-clock.ts";

test("the server's clock is the latest that any response showed, because responses take time", () => {
  vi.useFakeTimers({ now: 1_800_000_000_000 });
  onTestFinished(() => void vi.useRealTimers());
  const here = Date.now();
  expect(serverNow()).toBe(here);
  recordServerTime(here + 5_000);
  recordServerTime(here + 3_000);
  expect(serverNow()).toBe(here + 5_000);
});
