import { vi } from "vitest";

/** Retries until the attempt does not throw, for up to 20 s on a busy machine. */
export function eventually<T>(attempt: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(attempt, { timeout: 20_000, interval: 5 });
}
