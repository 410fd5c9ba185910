import { median } from "../../test/bench/statistics.mjs";
import { formatTable } from "../fault-table/markdown-table.mjs";
import { replaceBetween } from "../replace-between.mjs";
import { calculate, capacityOf, serversFor } from "./model.mjs";

const POLICIES = {
  "gcra 1": "one limit",
  "gcra 3": "three limits",
  "slidingWindow 1": "`slidingWindow`",
  "slidingLog 1": "`slidingLog`",
};

const SITES = [
  { name: "small", processes: 2, perSecond: 50, subjects: 5_000, policy: "gcra 1" },
  { name: "middle", processes: 40, perSecond: 6_000, subjects: 200_000, policy: "gcra 3" },
  { name: "large", processes: 400, perSecond: 100_000, subjects: 5_000_000, policy: "gcra 3" },
];

/** The page with what a run says between its markers. */
export function writeSizing(page, measured) {
  const run = withOneCall(measured);
  const parts = {
    costs: costsTable(run),
    sites: sitesTable(run),
    capacity: capacityTable(run),
    machine: `Measured on ${run.machine.processor}; ${run.machine.node}, ${run.machine.redis}.`,
  };
  return Object.entries(parts).reduce(
    (text, [name, part]) => replaceBetween(text, name, part),
    page,
  );
}

/** A call takes the same whatever is decided in it: the median of the measurements of all policies. */
function withOneCall({ costs, ...run }) {
  const times = Object.values(costs).map(({ cpu }) => cpu);
  const call = median(times.map((time) => time.call));
  const wake = median(times.map((time) => time.wake));
  const withCall = ([policy, { cpu, ...cost }]) => [
    policy,
    { ...cost, cpu: { call, wake, decision: cpu.decision } },
  ];
  return { ...run, costs: Object.fromEntries(Object.entries(costs).map(withCall)) };
}

function digits(number, precision = 2) {
  return Number(number.toPrecision(precision)).toLocaleString("en-US");
}

/** Microseconds to one, and tenths where they are few; bytes. */
function costsTable({ costs }) {
  const [{ cpu: time }] = Object.values(costs);
  const rows = Object.entries(POLICIES).map(([policy, name]) => {
    const { cpu, input, output } = costs[policy];
    const bytes = ({ call, decision }) => String(Math.round(call + decision));
    return [`a decision, **D**: ${name}`, cpu.decision.toFixed(1), bytes(input), bytes(output)];
  });
  return formatTable(
    ["", "microseconds", "bytes to Redis", "bytes back"],
    [
      ["a call, **C**", time.call.toFixed(0), "", ""],
      ["a call that wakes the server, more: **W**", time.wake.toFixed(0), "", ""],
      ...rows,
    ],
  );
}

function sitesTable(run) {
  const sites = SITES.map((site) => ({ ...site, ...calculate(run, site) }));
  const row = (title, cell) => [title, ...sites.map(cell)];
  const megabits = (bytes) => digits((bytes * 8) / 1e6);
  return formatTable(
    ["", ...sites.map(({ name }) => name)],
    [
      row("processes", ({ processes }) => digits(processes)),
      row("decisions a second", ({ perSecond }) => digits(perSecond)),
      row("subjects", ({ subjects }) => digits(subjects)),
      row("limits", ({ policy }) => policy.split(" ")[1]),
      row("Redis processor, % of a core", ({ cores }) => digits(cores * 100)),
      row("Redis memory, MB", ({ subjects, policy }) =>
        digits((subjects * run.memory[policy]) / 1e6),
      ),
      row("network to Redis, Mbit/s", ({ input }) => megabits(input)),
      row("network back, Mbit/s", ({ output }) => megabits(output)),
      row("primaries", ({ cores }) => digits(serversFor(cores))),
    ],
  );
}

function capacityTable(run) {
  return formatTable(
    ["policy", "alone", "16 in a call", "64 in a call"],
    Object.entries(POLICIES).map(([policy, name]) => [
      name,
      ...[1, 16, 64].map((perCall) => digits(capacityOf(run, policy, perCall))),
    ]),
  );
}
