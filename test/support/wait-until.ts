import { setTimeout as delay } from "node:timers/promises";

const PAUSE_MS = 20;

/**
 * Resolves with the first answer of `look` that is not `undefined`. An error of `look` is "not yet".
 * After `withinMs` it rejects, and says what it waited for and what stood in the way.
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
