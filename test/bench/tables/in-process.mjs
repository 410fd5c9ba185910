import { isLoop, netOf } from "../in-process/net.mjs";
import { formatNumber, formatSpread } from "../print.mjs";
import { median } from "../statistics.mjs";

const HEAD = [
  "call",
  "ns in the loop",
  "ns without it",
  "CPU ns without it",
  "bytes allocated",
  "bytes retained",
  "bytes a key",
];

export function tables(rows) {
  const own = rows.filter(({ suite }) => suite === "in-process");
  if (own.length === 0) return [];
  return [
    {
      title: "In this process: one call after another",
      head: HEAD,
      rows: own.map(({ name, nanoseconds, allocated, retained, bytesPerKey }) => [
        name,
        formatSpread(nanoseconds),
        ...["nanoseconds", "cpuNanoseconds"].map((column) =>
          isLoop(name) ? "–" : formatNumber(median(netOf(rows, name, column))),
        ),
        String(allocated),
        String(retained),
        formatNumber(bytesPerKey),
      ]),
    },
  ];
}
