import type { Snapshot } from "@headgate/breaker";
import { createBreaker } from "@headgate/breaker";
import type { Duration } from "@headgate/core";
import { HeadgateError } from "@headgate/core";
import type { DirectoryBreaker } from "@headgate/core/operate";
import type { CommandContext } from "../command/cli.ts";
import type { Connection } from "../connect/connection.ts";
import { styleFor, widthOf } from "../output/style.ts";
import type { Cell } from "../output/table.ts";
import { formatTable } from "../output/table.ts";
import { formatSpan } from "../output/time.ts";
import { readListedOptions } from "./listed-breaker.ts";

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

const COLUMNS = [
  { head: "BREAKER" },
  { head: "TARGET" },
  { head: "STATE" },
  { head: "CALLS", align: "right" },
  { head: "FAILED", align: "right" },
  { head: "SLOW", align: "right" },
  { head: "TRIAL CALLS" },
] as const;

/** A table of the states of targets, those that are not closed in colour. Empty if there are none. */
export function formatStates(
  states: readonly TargetState[],
  { stdout, environment }: Pick<CommandContext, "stdout" | "environment">,
): string {
  if (states.length === 0) return "";
  const style = styleFor(stdout, environment);
  const rows = states.map(
    ({ breaker, target, state, calls, failures, slow, retryAfterMs }): Cell[] => [
      breaker,
      target,
      { text: state, style: (shown) => (state === "closed" ? shown : style("yellow", shown)) },
      ...[String(calls), String(failures), String(slow)],
      retryAfterMs > 0 ? `in ${formatSpan(retryAfterMs)}` : "",
    ],
  );
  return formatTable(COLUMNS, rows, widthOf(stdout));
}
