import { formatNumber } from "../print.mjs";
import { evaluateTargets } from "../targets.mjs";

/** The targets that were measured. */
export function tables(rows) {
  return [
    {
      title: "Targets",
      head: ["target", "to reach", "measured", ""],
      rows: evaluateTargets(rows).map(({ claim, target, measured, isReached }) => [
        claim,
        target,
        formatNumber(measured),
        wordOf(measured, isReached),
      ]),
    },
  ];
}

function wordOf(measured, isReached) {
  if (Number.isNaN(measured)) return "not measured";
  return isReached ? "reached" : "missed";
}
