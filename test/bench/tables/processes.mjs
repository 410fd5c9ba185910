import { formatNumber, formatSpread } from "../print.mjs";
import { median } from "../statistics.mjs";

export function tables(rows) {
  const own = rows.filter(({ suite }) => suite === "processes");
  if (own.length === 0) return [];
  const first = own.filter(({ what }) => what === "first decision");
  const commands = own.filter(({ what }) => what === "commands");
  return [
    {
      title: "A new process: its first decision",
      head: ["limiter", "ms", "CPU ms of Node"],
      rows: first.map(({ name, milliseconds, cpuMilliseconds }) => [
        name,
        formatSpread(milliseconds),
        formatNumber(median(cpuMilliseconds)),
      ]),
    },
    {
      title: "A process with little to do: its commands a second",
      head: ["limiter", "one decision a second", "none"],
      rows: [...new Set(commands.map(({ name }) => name))].map((name) => [
        name,
        ...[true, false].map((isBusy) =>
          formatNumber(
            commands.find((one) => one.name === name && one.isBusy === isBusy).commandsPerSecond,
          ),
        ),
      ]),
    },
  ];
}
