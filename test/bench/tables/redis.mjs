import { formatNumber } from "../print.mjs";
import { median, ratiosOf } from "../statistics.mjs";

const TITLES = {
  alone: "Redis: one decision a call",
  batches: "Redis: full batches, 1,000 in flight",
};

/** A table for one decision a call, and one for many. */
export function tables(rows) {
  const own = rows.filter(({ suite }) => suite === "redis");
  const modes = [...new Set(own.map(({ mode }) => mode))];
  return modes.map((mode) => {
    const ofMode = own.filter((row) => row.mode === mode);
    const floor = ofMode.find(({ limits }) => limits === 0);
    return {
      title: TITLES[mode],
      head: [
        "limiter",
        "limits",
        "µs a decision",
        "× the empty script",
        "decisions a call",
        ...(mode === "alone" ? ["instructions", "at the first visit", "denied"] : ["instructions"]),
        "bytes after 1",
        "after 100",
      ],
      rows: ofMode.map((row) => [
        row.name,
        String(row.limits),
        formatNumber(median(row.microseconds)),
        median(ratiosOf(row.microseconds, floor.microseconds)).toFixed(2),
        formatNumber(median(row.decisionsPerCall)),
        formatNumber(row.instructions),
        ...(mode === "alone" ? [row.instructionsFirst, row.instructionsDenied] : []).map(
          formatNumber,
        ),
        ...row.bytes.map(formatNumber),
      ]),
    };
  });
}
