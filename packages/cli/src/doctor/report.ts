import { escapeHidden, pluralize } from "@headgate/replay/internal";
import type { Style } from "../output/style.ts";
import { cluster } from "./checks/cluster.ts";
import { busyScripts, latency, scriptCache, slowCommands } from "./checks/latency.ts";
import { load } from "./checks/load.ts";
import { permissions } from "./checks/permissions.ts";
import { keys, overrides, registry, usage } from "./checks/records.ts";
import { minReplicas, replicas, role } from "./checks/replicas.ts";
import { connections, eviction, idleConnections, memory, persistence } from "./checks/resources.ts";
import { clock, sentinels, servers, version } from "./checks/servers.ts";
import type { Facts } from "./facts/facts.ts";
import type { Check, Finding, ServerFinding, Status } from "./finding.ts";
import { STATUSES } from "./finding.ts";

/** In the order in which they are printed, and that of docs/how-to/doctor.md. */
export const CHECKS: readonly Check[] = [
  servers,
  version,
  role,
  cluster,
  sentinels,
  latency,
  clock,
  permissions,
  scriptCache,
  busyScripts,
  slowCommands,
  eviction,
  memory,
  persistence,
  replicas,
  minReplicas,
  connections,
  idleConnections,
  registry,
  load,
  overrides,
  usage,
  keys,
];

/** The result of all checks, as `headgate doctor --json` prints it. */
export interface DoctorReport {
  readonly url: string;
  readonly prefix: string;
  readonly checks: readonly CheckResult[];
  readonly counts: Readonly<Record<Status, number>>;
}

interface CheckResult {
  readonly name: string;
  /** The status of the worst finding. */
  readonly status: Status;
  /** Sorted, the worst first. */
  readonly findings: readonly GroupedFinding[];
  /** A command that prints the documentation of the check. */
  readonly docs: string;
}

interface GroupedFinding extends Finding {
  /** The servers with this finding; empty if it concerns all of them together. */
  readonly servers: readonly string[];
}

/** Runs all checks on the gathered facts. */
export function runChecks(url: string, facts: Facts): DoctorReport {
  const checks = CHECKS.map((check) => runCheck(check, facts));
  const counts = Object.fromEntries(
    STATUSES.map((status) => [status, checks.filter((one) => one.status === status).length]),
  ) as Record<Status, number>;
  return { url, prefix: facts.prefix, checks, counts };
}

function runCheck(check: Check, facts: Facts): CheckResult {
  const findings = groupFindings(check.run(facts)).sort(
    (a, b) => severityOf(b.status) - severityOf(a.status),
  );
  const status = findings[0]?.status ?? "ok";
  return { name: check.name, status, findings, docs: `headgate doctor --explain ${check.name}` };
}

function severityOf(status: Status): number {
  return STATUSES.indexOf(status);
}

/** Merges equal findings of several servers into one that lists the servers. */
function groupFindings(findings: readonly ServerFinding[]): GroupedFinding[] {
  const groups = new Map<string, GroupedFinding>();
  for (const { server, ...finding } of findings) {
    const { commands, ...rest } = finding;
    const key = JSON.stringify(rest);
    const before = groups.get(key);
    const all = [...(before?.commands ?? []), ...(commands ?? [])];
    groups.set(key, {
      ...rest,
      ...(all.length > 0 ? { commands: all } : {}),
      servers: [...(before?.servers ?? []), ...(server === undefined ? [] : [server])],
    });
  }
  return [...groups.values()];
}

/** The sign and the color of each status. The status itself is printed too, for screen readers. */
const SIGNS: Readonly<Record<Status, readonly [sign: string, format: Parameters<Style>[0]]>> = {
  ok: ["✓", "green"],
  unknown: ["?", "dim"],
  note: ["-", "cyan"],
  warning: ["!", "yellow"],
  problem: ["✗", "red"],
};

const MAX_NAMED_SERVERS = 4;

/** Formats a report for a terminal: one line for each check, then the findings that are not ok, the worst first. */
export function formatReport(report: DoctorReport, style: Style): string {
  const { url, prefix, checks } = report;
  const width = Math.max(...checks.map(({ name }) => name.length));
  const lines = checks.map((check) => {
    const [sign, format] = SIGNS[check.status];
    const head = style(format, `${sign} ${check.status.padEnd(7)}`);
    return `${head}  ${check.name.padEnd(width)}  ${formatSummary(check)}`;
  });
  const findings = [...checks]
    .filter(({ status }) => status !== "ok")
    .sort((a, b) => severityOf(b.status) - severityOf(a.status))
    .flatMap((check) => formatFindings(check, style));
  return [
    `headgate doctor: ${escapeHidden(url)}, prefix ${escapeHidden(prefix)}`,
    "",
    ...lines,
    "",
    ...findings,
    formatCounts(report),
    "",
  ].join("\n");
}

/** The worst finding of a check, and the number of servers with it. */
function formatSummary({ findings }: CheckResult): string {
  const [worst] = findings;
  if (worst === undefined) return "";
  const all = new Set(findings.flatMap(({ servers }) => servers)).size;
  const some = worst.servers.length;
  const servers = some === all ? `${all} servers` : `${some} of ${all} servers`;
  return `${escapeHidden(worst.message)}${some > 0 && all > 1 ? ` (${servers})` : ""}`;
}

function formatFindings({ name, findings, docs }: CheckResult, style: Style): readonly string[] {
  const shown = findings.filter(({ status }) => status !== "ok");
  return shown.flatMap((finding, i) => {
    const [sign, format] = SIGNS[finding.status];
    return [
      `${style(format, `${sign} ${name}`)}: ${escapeHidden(finding.message)}${formatServers(finding)}`,
      ...(finding.impact === undefined ? [] : [`    Impact: ${escapeHidden(finding.impact)}.`]),
      ...(finding.fix === undefined ? [] : [`    Fix:    ${escapeHidden(finding.fix)}.`]),
      ...(finding.commands ?? []).map((command) =>
        style("bold", `            ${escapeHidden(command)}`),
      ),
      ...(i === shown.length - 1 ? [style("dim", `    See:    ${docs}`)] : []),
      "",
    ];
  });
}

function formatServers({ servers }: GroupedFinding): string {
  if (servers.length === 0) return "";
  const named = servers.slice(0, MAX_NAMED_SERVERS).join(", ");
  const more =
    servers.length > MAX_NAMED_SERVERS ? ` and ${servers.length - MAX_NAMED_SERVERS} more` : "";
  return ` (${escapeHidden(named)}${more})`;
}

function formatCounts({ counts, checks }: DoctorReport): string {
  const { ok, unknown, note, warning, problem } = counts;
  const parts = [
    `${ok} ok`,
    pluralize(note, "note"),
    pluralize(warning, "warning"),
    pluralize(problem, "problem"),
    `${unknown} unknown`,
  ];
  return `${checks.length} checks: ${parts.join(", ")}.`;
}
