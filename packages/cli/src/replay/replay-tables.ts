import type {
  ClientPeaks,
  DeniedClient,
  PolicyResult,
  ReplayedLog,
  ReplayResult,
} from "@headgate/replay";
import {
  escapeHidden,
  formatCount,
  formatEvictionCaveat,
  formatLogCaveats,
  formatOrder,
  formatPart,
  formatSpan,
  formatUtcTime,
  pluralizeInWords,
} from "@headgate/replay/internal";
import type { Style } from "../output/style.ts";
import type { Column } from "../output/table.ts";
import { formatTable } from "../output/table.ts";
import { wrapText } from "../output/terminal-text.ts";

const MAX_CLIENTS = 10;

const BARS = [..." ▁▂▃▄▅▆▇█"];

/** The most characters in a row of bars. */
const MAX_BARS = 60;

const POLICIES: readonly Column[] = [
  { head: "POLICY", wraps: true },
  { head: "CLIENTS DENIED", align: "right" },
  { head: "REQUESTS DENIED", align: "right" },
  { head: "WAIT, MEDIAN", align: "right" },
  { head: "99 %", align: "right" },
  { head: "LONGEST", align: "right" },
];

const CLIENTS: readonly Column[] = [
  { head: "CLIENT" },
  { head: "REQUESTS", align: "right" },
  { head: "DENIED", align: "right" },
  { head: "FIRST, UTC" },
  { head: "LAST, UTC" },
  { head: "LONGEST WAIT", align: "right" },
];

const REQUESTED: readonly Column[] = [
  { head: "USER AGENT", wraps: true },
  { head: "PATHS DENIED MOST", wraps: true },
];

const SHARES = [0.5, 0.9, 0.99, 0.999, 1];

const PEAKS: readonly Column[] = [
  { head: "WITHIN", wraps: true },
  ...["HALF", "90 %", "99 %", "99.9 %", "ALL"].map((head): Column => ({ head, align: "right" })),
];

/** Formats a result as text and tables. */
export function formatResult(result: ReplayResult, style: Style, width: number): string {
  const { policies, log, peaks } = result;
  const caveats = formatLogCaveats(log).map(
    (one) => `${style("yellow", "Note:")} ${wrapText(one)}\n`,
  );
  const parts = [
    `${formatLog(log)}${caveats.join("")}`,
    formatPolicies(result, width),
    formatTimelines(result),
  ];
  for (const policy of policies) {
    if (policy.denied === 0) continue;
    parts.push(`${style("bold", `Most often denied by ${escapeHidden(policy.name)}`)}\n`);
    parts.push(formatClients(policy, width));
  }
  if (log.requests > 0) {
    parts.push(`${style("bold", "Peak rates of clients")}\n`);
    parts.push(
      "The most requests that half of the clients made within each time, and so on up to all of them:\n",
    );
    parts.push(formatPeaks(peaks, width));
  }
  return parts.filter((part) => part !== "").join("\n");
}

/** Formats the log as sentences: what was read, and whether it was in order. */
export function formatLog(log: ReplayedLog): string {
  const { files, requests, clients, from, to } = log;
  const names = files.map((file) => (file === "-" ? "standard input" : file)).join(", ");
  const order = formatOrder(log);
  return [
    `${pluralizeInWords(requests, "request")} of ${pluralizeInWords(clients, "client")} in ${escapeHidden(names)},\n`,
    `${formatUtcTime(from)} to ${formatUtcTime(to)} UTC.\n`,
    ...(order === undefined ? [] : [`${wrapText(order)}\n`]),
  ].join("");
}

function formatPolicies({ policies, log }: ReplayResult, width: number): string {
  const rows = policies.map(({ name, denied, clientsDenied, waitsMs }) => [
    name,
    formatPart(clientsDenied, log.clients),
    formatPart(denied, log.requests),
    ...[waitsMs?.p50, waitsMs?.p99, waitsMs?.max].map(formatOptionalSpan),
  ]);
  const evicted = policies.filter((policy) => policy.evicted > 0).map(formatEvictions);
  return [formatTable(POLICIES, rows, width), ...evicted.map((line) => `${line}\n`)].join("");
}

/** Formats requests over time, and the denials of each policy below them. */
function formatTimelines({ timeline, policies, columnMs }: ReplayResult): string {
  if (timeline.length === 0) return "";
  const perBar = columnsPerBar(timeline);
  const denying = policies.filter(({ denied }) => denied > 0);
  const rows = [
    [formatBars(timeline, perBar), "requests"],
    ...denying.map(({ name, timeline: denied }) => [
      formatBars(denied, perBar),
      `denied by ${name}`,
    ]),
  ];
  const each = `EACH BAR: ${formatSpan(columnMs * perBar)}`;
  return formatTable([{ head: each }, { head: "" }], rows);
}

/** Formats a note about evicted clients. */
export function formatEvictions({ name, evicted }: PolicyResult): string {
  return `${escapeHidden(name)}: ${formatEvictionCaveat(evicted)}`;
}

/** Formats the clients that a policy denied most, with their user agents and paths if the log has them. */
export function formatClients({ clients, clientsDenied }: PolicyResult, width: number): string {
  const shown = clients.slice(0, MAX_CLIENTS);
  const isKnown = shown.some(({ agent, paths }) => agent !== undefined || paths !== undefined);
  const table = isKnown
    ? formatTable(
        [...CLIENTS, ...REQUESTED],
        shown.map((one) => [...clientRow(one), formatAgent(one), formatPaths(one)]),
        width,
      )
    : formatTable(CLIENTS, shown.map(clientRow), width);
  const others = clientsDenied - MAX_CLIENTS;
  return others > 0
    ? `${table}and ${pluralizeInWords(others, "more client")}; --json has up to 1,000\n`
    : table;
}

function clientRow(client: DeniedClient): string[] {
  return [
    client.client,
    formatCount(client.requests),
    formatCount(client.denied),
    formatUtcTime(client.firstDeniedAt),
    formatUtcTime(client.lastDeniedAt),
    formatSpan(client.longestWaitMs),
  ];
}

const MAX_AGENT = 48;

/** The part of a user agent that names a crawler, or else its beginning. */
function formatAgent({ agent = "" }: DeniedClient): string {
  const [, compatible] = /\bcompatible; ([^;)]+)/.exec(agent) ?? [];
  const crawler = /[\w.-]*(?:bot|crawl|spider|slurp)[\w./-]*/i.exec(agent)?.[0];
  const text = crawler ?? compatible ?? agent;
  return text.length > MAX_AGENT ? `${text.slice(0, MAX_AGENT - 1)}…` : text;
}

const MAX_PATH = 60;

function formatPaths({ paths = [] }: DeniedClient): string {
  return paths
    .slice(0, 2)
    .map(({ path, denied }) => {
      const shown = path.length > MAX_PATH ? `${path.slice(0, MAX_PATH - 1)}…` : path;
      return `${shown} (${formatCount(denied)})`;
    })
    .join(", ");
}

function formatPeaks(peaks: readonly ClientPeaks[], width: number): string {
  const rows = peaks.map(({ windowMs, counts, error }) => {
    const about = error === 0 ? "" : ` (up to ${formatCount(error + 1)} times as many)`;
    return [
      `${formatSpan(windowMs)}${about}`,
      ...SHARES.map((share) => formatPercentile(counts, share)),
    ];
  });
  return formatTable(PEAKS, rows, width);
}

function formatOptionalSpan(ms: number | undefined): string {
  return ms === undefined ? "" : formatSpan(ms);
}

/** Formats the peak that a share of clients does not exceed. */
function formatPercentile(counts: ClientPeaks["counts"], share: number): string {
  let left = Math.ceil(share * counts.reduce((sum, { clients }) => sum + clients, 0));
  for (const { peak, clients } of counts) {
    left -= clients;
    if (left <= 0) return `≤ ${formatCount(peak)}`;
  }
  return "-";
}

/** How many columns one bar stands for. */
function columnsPerBar({ length }: readonly number[]): number {
  return Math.ceil(length / MAX_BARS);
}

/** Formats a timeline as bars. */
function formatBars(timeline: readonly number[], perBar: number): string {
  const sums: number[] = [];
  timeline.forEach((value, column) => {
    const into = Math.floor(column / perBar);
    sums[into] = (sums[into] ?? 0) + value;
  });
  const most = Math.max(...sums);
  return sums.map((sum) => BARS[Math.ceil((sum / most) * (BARS.length - 1)) || 0]).join("");
}
