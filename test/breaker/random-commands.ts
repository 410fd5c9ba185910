import type { Random } from "../conformance/random/random.ts";
import type { MicroClock } from "../conformance/support/micro-clock.ts";
import type { Admitted, Ended, ModelFleet } from "./model-fleet.ts";
import type { Rules } from "./model-rules.ts";
import { randomStepBack, randomWait } from "./random-wait.ts";

/** Microseconds. A state set by hand stays if somebody contacts it once in six days, and goes in seven without contact. */
const SIX_DAYS = 518_400_000_000n;
const SEVEN_DAYS = 604_800_000_000n;

/** A process may forget calls that it was allowed: then it has crashed. */
const MOST_HELD = 30;

const STEPS_BACK = 0.05;

export interface Commands {
  readonly count: number;
  /** The shortest time between two commands, in microseconds. */
  readonly pause: bigint;
  /** Sets the clock back by microseconds; undefined where it only runs forward. */
  readonly stepBack?: ((microseconds: bigint) => void) | undefined;
}

/** Gives random commands to a fleet. Returns how often it was seen in each state. */
export async function command(
  fleet: ModelFleet,
  time: MicroClock,
  random: Random,
  { count, pause, stepBack }: Commands,
): Promise<Map<string, number>> {
  const seen = new Map<string, number>();
  const held: Admitted[] = [];
  let failing = 0.5;
  // A clock that was never read cannot step back.
  await fleet.lookAll();
  for (let step = 0; step < count; step++) {
    if (random.chance(0.1)) failing = random.pick([0, 1, random.fraction()]);
    const process = random.whole(0, fleet.size - 1);
    const rules = fleet.rulesOf(process);
    const { state } = fleet.peek();
    seen.set(state, (seen.get(state) ?? 0) + 1);
    if (stepBack !== undefined && random.chance(STEPS_BACK)) {
      stepBack(randomStepBack(random, time.now));
      await fleet.lookAll();
    }
    const wait = pause + randomWait(random, fleet.moments());
    const isClear = wait < SIX_DAYS || (wait >= SEVEN_DAYS && stepBack === undefined);
    if (isClear) time.advance(wait);
    const act = random.fraction();
    if (isByHand(state) && act < 0.2) {
      await fleet.reset(process);
    } else if (act < 0.02) {
      await fleet.reset(process);
    } else if (act < 0.04) {
      await fleet.set(process, random.pick(["forced-open", "disabled", "metrics-only"]));
    } else if (act < 0.35) {
      await fleet.record(process, randomEnd(random, rules, failing));
    } else if (act < 0.7) {
      const admitted = await fleet.admit(process);
      if (admitted !== undefined) held.push(admitted);
      if (held.length > MOST_HELD) held.shift();
    } else if (act < 0.95 && held.length > 0) {
      // Mostly the latest: the earlier ones are of periods that are over.
      const place = random.chance(0.6) ? held.length - 1 : random.whole(0, held.length - 1);
      const [admitted] = held.splice(place, 1) as [Admitted];
      if (random.chance(0.15)) await fleet.release(admitted);
      else await fleet.end(admitted, randomEnd(random, fleet.rulesOf(admitted.process), failing));
    } else {
      await fleet.look(process);
    }
  }
  return seen;
}

function randomEnd(random: Random, { slowCallMs = 1_000 }: Rules, failing: number): Ended {
  const durationMs = random.chance(failing)
    ? random.pick([slowCallMs + 1, slowCallMs + 0.001, slowCallMs * 10])
    : random.pick([undefined, 0, slowCallMs, slowCallMs - 0.001]);
  return { outcome: random.chance(failing) ? "failure" : "success", durationMs };
}

function isByHand(state: string): boolean {
  return !["closed", "open", "half-open"].includes(state);
}
