import { CHECKS } from "./checks.ts";
import type { Facts } from "./facts/facts.ts";
import type { Check, Finding, ServerFinding, Status } from "./finding.ts";
import { STATUSES } from "./finding.ts";

/** The result of all checks, as `headgate doctor --json` prints it. */
export interface DoctorReport {
  readonly url: string;
  readonly prefix: string;
  readonly checks: readonly CheckResult[];
  /** The number of checks with each status. */
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
