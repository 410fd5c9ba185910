import { formatNumber } from "../print.mjs";
import { median, ratioOf } from "../statistics.mjs";

const TITLES = {
  alone: "Redis: one decision a call",
  batches: "Redis: full batches, 1,000 in flight",
};

/** For one decision a call, and for many: a table of times, and one of instructions and bytes. */
export function tables(rows) {
  const own = rows.filter(({ suite }) => suite === "redis");
  const modes = [...new Set(own.map(({ mode }) => mode))];
  return modes.flatMap((mode) => {
    const ofMode = own.filter((row) => row.mode === mode);
    return [timesOf(mode, ofMode), sizesOf(mode, ofMode)];
  });
}

function timesOf(mode, rows) {
  const floor = rows.find(({ limits }) => limits === 0);
  return {
    title: `${TITLES[mode]}, times`,
    head: ["limiter", "limits", "µs a decision", "× the empty script", "decisions a call"],
    rows: rows.map((row) => [
      row.name,
      String(row.limits),
      formatNumber(median(row.microseconds)),
      ratioOf(row.microseconds, floor.microseconds).toFixed(2),
      formatNumber(median(row.decisionsPerCall)),
    ]),
  };
}

function sizesOf(mode, rows) {
  const isAlone = mode === "alone";
  return {
    title: `${TITLES[mode]}, instructions and bytes`,
    head: [
      "limiter",
      "limits",
      ...(isAlone ? ["instructions", "at the first visit", "denied"] : ["instructions"]),
      "bytes after 1",
      "after 100",
    ],
    rows: rows.map((row) => [
      row.name,
      String(row.limits),
      formatNumber(row.instructions),
      ...(isAlone ? [row.instructionsFirst, row.instructionsDenied] : []).map(formatNumber),
      ...row.bytes.map(formatNumber),
    ]),
  };
}
