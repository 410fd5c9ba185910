import type { Breaker, Permit } from "@headgate/breaker";
import type { HeldBreaker } from "./held-breaker.ts";
import { letRun } from "./held-breaker.ts";

/** Asks for a call, and carries out what that asks of the store: the permit, and how often the store was asked. */
export async function admit({
  breaker,
  held,
}: HeldBreaker<unknown>): Promise<{ readonly asked: number; readonly permit: Permit }> {
  const asking = breaker.admit();
  await letRun();
  const asked = held.length;
  for (let call = held.shift(); call !== undefined; call = held.shift()) await call.carryOut();
  return { asked, permit: await asking };
}

export async function fail(breaker: Breaker, calls: number): Promise<void> {
  for (let i = 0; i < calls; i += 1) await breaker.record("failure");
}
