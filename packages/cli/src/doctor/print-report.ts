import { counted } from "../output/number.ts";
import type { Style } from "../output/style.ts";
import { visible } from "../output/visible.ts";
import type { Status } from "./finding.ts";
import { STATUSES } from "./finding.ts";
import type { Report } from "./report.ts";

type CheckReport = Report["checks"][number];
type ReportedFinding = CheckReport["findings"][number];

/** A sign to see, and a word for those who cannot see it. */
const SIGNS: Readonly<Record<Status, readonly [sign: string, format: Parameters<Style>[0]]>> = {
  ok: ["✓", "green"],
  unknown: ["?", "dim"],
  note: ["-", "cyan"],
  warning: ["!", "yellow"],
  problem: ["✗", "red"],
};

/** The most servers that a finding names. */
const NAMED = 4;

/** Writes a report for a terminal: a line for each check, then, the worst first, the details of those that are not in order. */
export function formatReport(report: Report, style: Style): string {
  const { place, prefix, checks } = report;
  const width = Math.max(...checks.map(({ name }) => name.length));
  const lines = checks.map((check) => {
    const [sign, format] = SIGNS[check.status];
    const head = style(format, `${sign} ${check.status.padEnd(7)}`);
    return `${head}  ${check.name.padEnd(width)}  ${summaryOf(check)}`;
  });
  const findings = [...checks]
    .filter(({ status }) => status !== "ok")
    .sort((a, b) => STATUSES.indexOf(b.status) - STATUSES.indexOf(a.status))
    .flatMap((check) => explain(check, style));
  return [
    `headgate doctor: ${visible(place)}, prefix ${visible(prefix)}`,
    "",
    ...lines,
    "",
    ...findings,
    countsOf(report),
    "",
  ].join("\n");
}

/** The worst finding of a check, and how many servers have it. */
function summaryOf({ findings }: CheckReport): string {
  const [worst] = findings;
  if (worst === undefined) return "";
  const all = new Set(findings.flatMap(({ servers }) => servers)).size;
  const some = worst.servers.length;
  const servers = some === all ? `${all} servers` : `${some} of ${all} servers`;
  return `${visible(worst.found)}${some > 0 && all > 1 ? ` (${servers})` : ""}`;
}

function explain({ name, findings, docs }: CheckReport, style: Style): readonly string[] {
  const told = findings.filter(({ status }) => status !== "ok");
  return told.flatMap((finding, i) => {
    const [sign, format] = SIGNS[finding.status];
    return [
      `${style(format, `${sign} ${name}`)}: ${visible(finding.found)}${whereOf(finding)}`,
      ...(finding.means === undefined ? [] : [`    Means: ${visible(finding.means)}.`]),
      ...(finding.mend === undefined ? [] : [`    Mend:  ${visible(finding.mend)}.`]),
      ...(finding.commands ?? []).map((command) => style("bold", `           ${visible(command)}`)),
      ...(i === told.length - 1 ? [style("dim", `    See:   ${docs}`)] : []),
      "",
    ];
  });
}

function whereOf({ servers }: ReportedFinding): string {
  if (servers.length === 0) return "";
  const named = servers.slice(0, NAMED).join(", ");
  const more = servers.length > NAMED ? ` and ${servers.length - NAMED} more` : "";
  return ` (${visible(named)}${more})`;
}

function countsOf({ counts, checks }: Report): string {
  const { ok, unknown, note, warning, problem } = counts;
  const parts = [
    `${ok} in order`,
    counted(note, "note"),
    counted(warning, "warning"),
    counted(problem, "problem"),
    `${unknown} unknown`,
  ];
  return `${checks.length} checks: ${parts.join(", ")}.`;
}
