import { vi } from "vitest";

/** Tries until it does not throw, on a busy machine for long. */
export function eventually<T>(attempt: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(attempt, { timeout: 20_000, interval: 5 });
}
