import type { Breaker, Permit } from "@headgate/breaker";
import type { HeldBreaker } from "./held-breaker.ts";
import { flushMicrotasks } from "./held-breaker.ts";

/** Admits a call, and completes the calls of the store that this makes. Returns the permit and the number of these calls. */
export async function admitHeld({
  breaker,
  held,
}: HeldBreaker<unknown>): Promise<{ readonly storeCalls: number; readonly permit: Permit }> {
  const pending = breaker.admit();
  await flushMicrotasks();
  const storeCalls = held.length;
  for (let call = held.shift(); call !== undefined; call = held.shift()) await call.complete();
  return { storeCalls, permit: await pending };
}

export async function fail(breaker: Breaker, calls: number): Promise<void> {
  for (let i = 0; i < calls; i += 1) await breaker.record("failure");
}
