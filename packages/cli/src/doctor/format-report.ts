import { pluralize } from "../output/number.ts";
import type { Style } from "../output/style.ts";
import { escapeHidden } from "../output/terminal-text.ts";
import type { Status } from "./finding.ts";
import { STATUSES } from "./finding.ts";
import type { DoctorReport } from "./report.ts";

type CheckResult = DoctorReport["checks"][number];
type GroupedFinding = CheckResult["findings"][number];

/** The sign and the color of each status. The status itself is printed too, for screen readers. */
const SIGNS: Readonly<Record<Status, readonly [sign: string, format: Parameters<Style>[0]]>> = {
  ok: ["✓", "green"],
  unknown: ["?", "dim"],
  note: ["-", "cyan"],
  warning: ["!", "yellow"],
  problem: ["✗", "red"],
};

/** The most servers listed for a finding. */
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
    .sort((a, b) => STATUSES.indexOf(b.status) - STATUSES.indexOf(a.status))
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
