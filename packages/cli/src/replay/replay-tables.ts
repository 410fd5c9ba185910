import Table from "cli-table3";
import { printable } from "../log/printable.ts";
import type { ClientPeaks, DeniedClient, PolicyResult, ReplayResult } from "./result.ts";

const SHOWN_CLIENTS = 10;

const PLAIN = { head: [], border: [], compact: true };

const BARS = [..." ▁▂▃▄▅▆▇█"];

/** So many signs a row of bars has at most. */
const MAX_BARS = 60;

/** A result for people. */
export function formatResult(result: ReplayResult): string {
  const tables = [formatLog(result), formatPolicies(result)];
  for (const policy of result.policies) {
    if (policy.denied > 0) tables.push(formatClients(policy));
  }
  if (result.log.requests > 0) tables.push(formatPeaks(result.peaks));
  return `${tables.join("\n\n")}\n`;
}

function formatLog({ log, timeline }: ReplayResult): string {
  const table = new Table({ style: PLAIN });
  const { lines, requests, clients, malformed, reordered, late, from, to } = log;
  table.push(
    { Log: log.files.map((file) => printable(file, 60)).join("\n") },
    { "Log's time": from === null ? "-" : `${momentOf(from)} to ${momentOf(to as number)}` },
    { Requests: `${count(requests)} of ${count(clients)} clients, in ${count(lines)} lines` },
    { "Over time": bars(timeline) || "-" },
    { "Malformed lines": count(malformed) },
    { "Put in order": count(reordered) },
  );
  if (late > 0)
    table.push({ "Too late for it": `${count(late)}, replayed at the time of the line before` });
  return table.toString();
}

function formatPolicies({ policies, log }: ReplayResult): string {
  const table = new Table({
    head: ["Policy", "denied", "clients denied", "wait p50", "p99", "longest", "denied over time"],
    colAligns: ["left", "right", "right", "right", "right", "right", "left"],
    style: PLAIN,
  });
  for (const { name, denied, clientsDenied, waits, timeline } of policies) {
    table.push([
      printable(name, 50),
      withShare(denied, log.requests),
      withShare(clientsDenied, log.clients),
      ...[waits?.p50, waits?.p99, waits?.max].map(durationOf),
      denied === 0 ? "" : bars(timeline),
    ]);
  }
  const evicted = policies.filter((policy) => policy.evicted > 0).map(saysEvicted);
  return [table.toString(), ...evicted].join("\n");
}

/** What there was no memory for is never silent. */
export function saysEvicted({ name, evicted }: PolicyResult): string {
  return `${printable(name, 50)}: ${count(evicted)} times memory had no room, and a client started as new: there may be more denials`;
}

function formatClients({ name, clients, clientsDenied }: PolicyResult): string {
  const table = new Table({
    head: [
      `Most often denied by ${printable(name, 50)}`,
      ...["requests", "denied", "first", "last", "longest wait"],
    ],
    colAligns: ["left", "right", "right", "right", "right", "right"],
    style: PLAIN,
  });
  for (const client of clients.slice(0, SHOWN_CLIENTS)) table.push(clientRow(client));
  const others = clientsDenied - SHOWN_CLIENTS;
  return others > 0 ? `${table.toString()}\n${andMore(others)}` : table.toString();
}

function clientRow(client: DeniedClient): string[] {
  return [
    printable(client.client, 45),
    count(client.requests),
    count(client.denied),
    momentOf(client.firstDenied),
    momentOf(client.lastDenied),
    durationOf(client.longestWait),
  ];
}

function andMore(others: number): string {
  return `and ${count(others)} more ${others === 1 ? "client" : "clients"}; --json has up to 1,000`;
}

function formatPeaks(peaks: readonly ClientPeaks[]): string {
  const shares = [0.5, 0.9, 0.99, 0.999, 1];
  const table = new Table({
    head: ["Clients at their busiest, within", "half", "90 %", "99 %", "99.9 %", "all"],
    colAligns: ["left", ...shares.map(() => "right" as const)],
    style: PLAIN,
  });
  for (const { window, counts, error } of peaks) {
    const about = error === 0 ? "" : ` (up to ${count(error + 1)} times as many)`;
    table.push([`${durationOf(window)}${about}`, ...shares.map((share) => atMost(counts, share))]);
  }
  return table.toString();
}

/** The peak that a share of clients does not exceed. */
function atMost(counts: ClientPeaks["counts"], share: number): string {
  let left = Math.ceil(share * counts.reduce((sum, { clients }) => sum + clients, 0));
  for (const { peak, clients } of counts) {
    left -= clients;
    if (left <= 0) return `≤ ${count(peak)}`;
  }
  return "-";
}

/** A timeline as bars, several columns in one where there are too many. */
function bars(timeline: readonly number[]): string {
  const joined = Math.ceil(timeline.length / MAX_BARS);
  const sums: number[] = [];
  timeline.forEach((value, column) => {
    const into = Math.floor(column / joined);
    sums[into] = (sums[into] ?? 0) + value;
  });
  const most = Math.max(...sums);
  return sums.map((sum) => BARS[Math.ceil((sum / most) * (BARS.length - 1)) || 0]).join("");
}

function momentOf(time: number): string {
  return new Date(time).toISOString().replace(/\.000Z$/, "Z");
}

const UNITS = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1_000],
  ["ms", 1],
] as const;

/** The two largest units of a time in milliseconds: `1h 30m`. */
function durationOf(ms: number | undefined): string {
  if (ms === undefined) return "-";
  const first = UNITS.findIndex(([, unit]) => ms >= unit);
  if (first === -1) return "0";
  let left = ms;
  const parts = UNITS.slice(first, first + 2).map(([name, unit]) => {
    const whole = Math.floor(left / unit);
    left -= whole * unit;
    return whole === 0 ? "" : `${whole}${name}`;
  });
  return parts.filter(Boolean).join(" ");
}

function withShare(part: number, whole: number): string {
  return whole === 0 ? count(part) : `${count(part)} (${((part / whole) * 100).toFixed(1)} %)`;
}

function count(value: number): string {
  return value.toLocaleString("en-US");
}
