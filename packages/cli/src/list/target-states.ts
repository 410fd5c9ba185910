import type { Snapshot } from "@headgate/breaker";
import { createBreaker } from "@headgate/breaker";
import type { Duration } from "@headgate/core";
import { HeadgateError } from "@headgate/core";
import type { RegistryBreaker } from "@headgate/core/admin";
import { breakerOptionsOf } from "@headgate/core/admin";
import type { CommandContext } from "../command/cli.ts";
import type { Connection } from "../connect/connection.ts";
import { styleFor, widthOf } from "../output/style.ts";
import type { Cell } from "../output/table.ts";
import { formatTable } from "../output/table.ts";
import { formatSpan } from "../output/time.ts";

/** How a target of a breaker is doing. */
export interface TargetState extends Omit<Snapshot, "degraded"> {
  readonly breaker: string;
  /** Which of several policies under that name: they count in windows of their own. */
  readonly policy: string;
  readonly target: string;
}

/** The states that were read, and how many targets could not be. */
interface TargetStatesResult {
  readonly states: readonly TargetState[];
  readonly unreadCount: number;
}

/**
 * Reads how targets of breakers are doing, in the order of both: those that are named, and of which each has to be read, or those
 * that the directory knows. A breaker whose options were too long for the directory is left out. Rejects as a store does.
 */
export async function readTargetStates(
  connection: Connection,
  breakers: readonly RegistryBreaker[],
  targetNames: readonly string[] | undefined,
): Promise<TargetStatesResult> {
  const states: TargetState[] = [];
  const seen = new Set<string>();
  let unreadCount = 0;
  // One after another: two policies under one name are a mistake where they are there at the same time.
  for (const breaker of breakers) {
    if (breaker.isCut) continue;
    // A breaker is listed for each version of Headgate, and has one state.
    const targets = (targetNames ?? breaker.targets ?? []).filter((target) =>
      addIfNew(seen, JSON.stringify([breaker.name, breaker.policy, target])),
    );
    const found = await readBreakerTargets(connection, breaker, targets);
    const readable = found.filter((state) => state !== undefined);
    unreadCount += found.length - readable.length;
    states.push(...readable);
  }
  if (targetNames !== undefined && unreadCount > 0) throw storeUnavailable();
  return { states, unreadCount };
}

function addIfNew(known: Set<string>, id: string): boolean {
  return known.size < known.add(id).size;
}

/** Undefined for a target whose state could not be read. */
async function readBreakerTargets(
  { store, timeoutMs }: Connection,
  { name, policy, options }: RegistryBreaker,
  targets: readonly string[],
): Promise<readonly (TargetState | undefined)[]> {
  const own = { name, store, storeTimeout: timeoutMs as Duration };
  const breaker = createBreaker({ ...breakerOptionsOf(options), ...own });
  try {
    const snapshots = await Promise.all(targets.map((target) => breaker.for(target).snapshot()));
    return snapshots.map(({ degraded, ...snapshot }, i) => {
      // The breaker decides by itself then, which says nothing of the fleet.
      if (degraded) return undefined;
      return { breaker: name, policy, target: targets[i] as string, ...snapshot };
    });
  } finally {
    await breaker.close();
  }
}

function storeUnavailable(): HeadgateError {
  return new HeadgateError("HEADGATE_STORE_UNAVAILABLE", "the store could not answer");
}

const COLUMNS = [
  { head: "BREAKER" },
  { head: "TARGET" },
  { head: "STATE" },
  { head: "CALLS", align: "right" },
  { head: "SUCCESS", align: "right" },
  { head: "FAILED", align: "right" },
  { head: "SLOW", align: "right" },
  { head: "TRIAL CALLS" },
] as const;

/** A table of the states of targets, those that are not closed in colour. Empty if there are none. */
export function formatTargetStates(
  states: readonly TargetState[],
  { stdout, environment }: Pick<CommandContext, "stdout" | "environment">,
): string {
  if (states.length === 0) return "";
  const style = styleFor(stdout, environment);
  const rows = states.map(
    ({ breaker, target, state, calls, successRate, failures, slow, retryAfterMs }): Cell[] => [
      breaker,
      target,
      { text: state, style: (shown) => (state === "closed" ? shown : style("yellow", shown)) },
      ...[String(calls), formatRate(successRate), String(failures), String(slow)],
      retryAfterMs > 0 ? `in ${formatSpan(retryAfterMs)}` : "",
    ],
  );
  return formatTable(COLUMNS, rows, widthOf(stdout));
}

/** In percent, rounded down: only a target without failures has 100.0 %. */
function formatRate(rate: number | null): string {
  return rate === null ? "" : `${(Math.floor(rate * 1_000) / 10).toFixed(1)} %`;
}
