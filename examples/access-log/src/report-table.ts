import Table from "cli-table3";
import { printable } from "./printable.ts";
import type { Report } from "./report.ts";

const SHOWN_CLIENTS = 10;

const PLAIN = { head: [], border: [], compact: true };

/** A report for people. */
export function formatReport(report: Report): string {
  const tables = [formatSummary(report)];
  if (report.denied > 0) tables.push(formatClients(report));
  return `${tables.join("\n\n")}\n`;
}

function formatSummary(report: Report): string {
  const { requests, admitted, denied, malformed } = report;
  const table = new Table({ style: PLAIN });
  table.push(
    { Log: printable(report.log, 60) },
    { "Log's time": report.from === null ? "-" : `${report.from} to ${report.to}` },
    { Limits: report.limits.map((limit) => JSON.stringify(limit)).join("\n") },
    { "Counted in": `${report.store}, behind ${report.framework}` },
    { Requests: count(requests) },
    { Admitted: withShare(admitted, requests) },
    {
      Denied: `${withShare(denied, requests)}, to ${count(report.clientsDenied)} of ${count(report.clientsTotal)} clients`,
    },
    { "Skipped lines": count(malformed) },
    { "Requests per second": `${count(report.perSecond)}, one after another` },
    { "Latency p50, p99": `${milliseconds(report.p50Ms)}, ${milliseconds(report.p99Ms)}` },
  );
  return table.toString();
}

function formatClients({ clients }: Report): string {
  const table = new Table({
    head: ["Most often denied", "requests", "admitted", "denied"],
    colAligns: ["left", "right", "right", "right"],
    style: PLAIN,
  });
  for (const { client, requests, admitted, denied } of clients.slice(0, SHOWN_CLIENTS)) {
    table.push([printable(client, 45), count(requests), count(admitted), count(denied)]);
  }
  return table.toString();
}

function withShare(part: number, whole: number): string {
  return whole === 0 ? count(part) : `${count(part)} (${((part / whole) * 100).toFixed(1)} %)`;
}

function count(value: number): string {
  return value.toLocaleString("en-US");
}

function milliseconds(value: number | null): string {
  return value === null ? "-" : `${value.toFixed(2)} ms`;
}
