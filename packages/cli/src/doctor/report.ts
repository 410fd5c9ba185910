import { CHECKS } from "./checks.ts";
import type { Facts } from "./facts/facts.ts";
import type { Check, Finding, PlacedFinding, Status } from "./finding.ts";
import { STATUSES } from "./finding.ts";

/** The result of all checks. Plain data, as `--json` prints it. */
export interface Report {
  readonly place: string;
  readonly prefix: string;
  readonly checks: readonly CheckReport[];
  /** How many checks have which status. */
  readonly counts: Readonly<Record<Status, number>>;
}

interface CheckReport {
  readonly name: string;
  /** The worst of its findings. */
  readonly status: Status;
  /** The worst first. */
  readonly findings: readonly ReportedFinding[];
  /** The command that prints its section of the documentation. */
  readonly docs: string;
}

interface ReportedFinding extends Finding {
  /** The servers that it concerns; none if it concerns all of them together. */
  readonly servers: readonly string[];
}

/** Judges what was found out. */
export function examineAll(place: string, facts: Facts): Report {
  const checks = CHECKS.map((check) => judge(check, facts));
  const counts = Object.fromEntries(
    STATUSES.map((status) => [status, checks.filter((one) => one.status === status).length]),
  ) as Record<Status, number>;
  return { place, prefix: facts.prefix, checks, counts };
}

function judge(check: Check, facts: Facts): CheckReport {
  const findings = together(check.examine(facts)).sort((a, b) => rank(b.status) - rank(a.status));
  const status = findings[0]?.status ?? "ok";
  return { name: check.name, status, findings, docs: `headgate doctor --explain ${check.name}` };
}

function rank(status: Status): number {
  return STATUSES.indexOf(status);
}

/** Servers with the same finding are named together. */
function together(findings: readonly PlacedFinding[]): ReportedFinding[] {
  const byWords = new Map<string, ReportedFinding>();
  for (const { server, ...finding } of findings) {
    const { commands, ...rest } = finding;
    const words = JSON.stringify(rest);
    const before = byWords.get(words);
    const all = [...(before?.commands ?? []), ...(commands ?? [])];
    byWords.set(words, {
      ...rest,
      ...(all.length > 0 ? { commands: all } : {}),
      servers: [...(before?.servers ?? []), ...(server === undefined ? [] : [server])],
    });
  }
  return [...byWords.values()];
}
