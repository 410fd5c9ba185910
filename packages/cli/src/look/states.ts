import type { Surroundings } from "../command/surroundings.ts";
import { styleFor, widthOf } from "../output/style.ts";
import type { Cell } from "../output/table.ts";
import { formatTable } from "../output/table.ts";
import { formatSpan } from "../output/time.ts";
import type { TargetState } from "./read-states.ts";

const COLUMNS = [
  { head: "BREAKER" },
  { head: "TARGET" },
  { head: "STATE" },
  { head: "CALLS", align: "right" },
  { head: "FAILED", align: "right" },
  { head: "SLOW", align: "right" },
  { head: "TRIAL CALLS" },
] as const;

/** How targets are doing, as a table: what is not as usual is coloured. Empty where there are none. */
export function formatStates(
  states: readonly TargetState[],
  { stdout, environment }: Pick<Surroundings, "stdout" | "environment">,
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
