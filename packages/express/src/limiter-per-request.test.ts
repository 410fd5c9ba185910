import { expect, test, vi } from "vitest";
import { detectPerRequestLimiter } from "./limiter-per-request.ts";

test("a middleware counts once towards the warning, also if it is called twice in the turn that created it", () => {
  const warn = vi.fn();
  const request = { app: {} } as never;
  for (let i = 0; i < 9; i += 1) {
    const detector = detectPerRequestLimiter(warn);
    for (let calls = 0; calls < 2; calls += 1) if (detector.isNew) detector.note(request);
  }
  expect(warn).not.toHaveBeenCalled();
  detectPerRequestLimiter(warn).note(request);
  expect(warn).toHaveBeenCalledOnce();
});
