import { setTimeout as delay } from "node:timers/promises";

const PAUSE_MS = 20;

/**
 * Resolves with the first result of `look` that is not `undefined`. Errors of `look` count as "not yet".
 * Rejects after `withinMs` with the awaited condition and the last error.
 */
export async function waitUntil<Found>(
  what: string,
  withinMs: number,
  look: () => Promise<Found | undefined> | Found | undefined,
): Promise<Found> {
  const deadline = performance.now() + withinMs;
  let obstacle: unknown = "it never was";
  while (performance.now() < deadline) {
    try {
      const found = await look();
      if (found !== undefined) return found;
    } catch (error) {
      obstacle = error;
    }
    await delay(PAUSE_MS);
  }
  throw new Error(`waited ${withinMs} ms until ${what}: ${obstacle}`, { cause: obstacle });
}
