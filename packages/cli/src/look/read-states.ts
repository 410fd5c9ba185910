import type { Snapshot } from "@headgate/breaker";
import { createBreaker } from "@headgate/breaker";
import type { Duration } from "@headgate/core";
import { HeadgateError } from "@headgate/core";
import type { DirectoryBreaker } from "@headgate/core/operate";
import type { Connection } from "../connect/connection.ts";
import { readListedOptions } from "./listed-options.ts";

/** How a target of a breaker is doing. */
export interface TargetState extends Omit<Snapshot, "degraded"> {
  readonly breaker: string;
  /** Which of several policies under that name: they count in windows of their own. */
  readonly policy: string;
  readonly target: string;
}

/**
 * Reads how targets of breakers are doing, in the order of both. A breaker whose options were too long for the directory is left
 * out. Rejects as a store does.
 */
export async function readStates(
  connection: Connection,
  breakers: readonly DirectoryBreaker[],
  targets: readonly string[],
): Promise<readonly TargetState[]> {
  const states: TargetState[] = [];
  // One after another: two policies under one name are a mistake where they are there at the same time.
  for (const breaker of breakers) {
    if (!breaker.isCut) states.push(...(await readTargets(connection, breaker, targets)));
  }
  return states;
}

async function readTargets(
  { store, timeoutMs }: Connection,
  { name, policy, options }: DirectoryBreaker,
  targets: readonly string[],
): Promise<readonly TargetState[]> {
  const own = { name, store, storeTimeout: timeoutMs as Duration };
  const breaker = createBreaker({ ...readListedOptions(options), ...own });
  try {
    const snapshots = await Promise.all(targets.map((target) => breaker.for(target).snapshot()));
    return snapshots.map(({ degraded, ...snapshot }, i) => {
      if (degraded) throw unavailable();
      return { breaker: name, policy, target: targets[i] as string, ...snapshot };
    });
  } finally {
    await breaker.close();
  }
}

/** A breaker decides by itself then, which says nothing of the fleet. */
function unavailable(): HeadgateError {
  return new HeadgateError("HEADGATE_STORE_UNAVAILABLE", "the store could not answer");
}
