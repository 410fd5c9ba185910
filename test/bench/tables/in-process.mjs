import { formatNumber, formatSpread } from "../print.mjs";
import { median } from "../statistics.mjs";

export function tables(rows) {
  const own = rows.filter(({ suite }) => suite === "in-process");
  if (own.length === 0) return [];
  return [
    {
      title: "In this process: one call after another, with the loop and its await",
      head: ["call", "ns", "ns of processor", "bytes allocated", "bytes retained"],
      rows: own.map(({ name, nanoseconds, cpuNanoseconds, allocated, retained }) => [
        name,
        formatSpread(nanoseconds),
        formatNumber(median(cpuNanoseconds)),
        String(allocated),
        String(retained),
      ]),
    },
  ];
}
