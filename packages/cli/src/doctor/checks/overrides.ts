import type { Override } from "@headgate/core/admin";
import { overrideCoverageOf } from "@headgate/core/admin";
import { pluralize } from "../../output/number.ts";
import { formatCoverage } from "../../output/override.ts";
import { formatSubjectLabel } from "../../output/subject.ts";
import { quoteForShell } from "../../output/terminal-text.ts";
import { UnknownFact } from "../facts/fact.ts";
import type { Facts } from "../facts/facts.ts";
import type { Check, Finding } from "../finding.ts";
import { ifKnown } from "../finding.ts";
import { redisCliKeyCommand } from "../redis-cli-command.ts";

export const overrides: Check = {
  name: "overrides",
  run(facts) {
    const ignored: Finding[] = [];
    const summary = ifKnown(facts.control, (record) => {
      if (record === "damaged") return damagedRecordFinding(facts);
      ignored.push(...findIgnored(record.overrides, facts));
      return checkExpiry(record.overrides, facts.prefix);
    });
    return ignored.length > 0 && summary.status === "ok" ? ignored : [...ignored, summary];
  },
};

/** The most ignored overrides that get a finding of their own. */
const MAX_LISTED = 5;

/** Warns about overrides that some or all of the listed processes ignore. */
function findIgnored(all: readonly Override[], { registry, prefix }: Facts): readonly Finding[] {
  if (registry instanceof UnknownFact) return [];
  const withCoverage = all.map((override) => ({
    override,
    coverage: overrideCoverageOf(override, registry),
  }));
  const ignored = withCoverage.filter(
    ({ coverage }) => coverage.state === "ignored" || coverage.state === "partial",
  );
  const findings = ignored.slice(0, MAX_LISTED).map(
    ({ override, coverage }): Finding => ({
      status: "warning",
      message: `the override of ${override.limiter} for ${formatSubjectLabel(override.subject)} is ${coverage.state === "partial" ? "only in force " : ""}${formatCoverage(coverage)}`,
      impact: "processes that ignore it use the deployed limits",
      fix: `set it again with the limit names that headgate limiters shows, or remove it: ${unsetCommand(override, prefix)}, with your connection options`,
    }),
  );
  const more = ignored.length - MAX_LISTED;
  if (more <= 0) return findings;
  return [
    ...findings,
    { status: "warning", message: `${more} more are ignored: headgate limiters lists them` },
  ];
}

function damagedRecordFinding({ servers: [server], prefix }: Facts): Finding {
  const key = `${prefix}:{control}`;
  return {
    status: "problem",
    message: `the control record ${key} cannot be read`,
    impact: "new processes apply no overrides, and operators cannot act",
    fix: "deploy the version that wrote it; or delete it, and set the overrides again",
    ...(server === undefined ? {} : { commands: [redisCliKeyCommand(server, "DEL", key)] }),
  };
}

function checkExpiry(all: readonly Override[], prefix: string): Finding {
  const withoutExpiry = all.filter(({ until }) => until === null);
  const shadows = withoutExpiry.filter(({ shadow }) => shadow === true);
  const message = all.length === 0 ? "none" : pluralize(all.length, "override");
  const [first] = withoutExpiry;
  if (first === undefined) return { status: "ok", message };
  return {
    status: "warning",
    message: `${message}, ${withoutExpiry.length} without an end date: ${first.limiter}${first.subject === undefined ? "" : ` for ${Object.values(first.subject).join(", ")}`}${withoutExpiry.length > 1 ? ", ..." : ""}`,
    impact:
      shadows.length > 0
        ? "a limiter in shadow mode denies no requests until an operator ends it"
        : "the deployed limits are not in force until an operator removes the override",
    fix: `deploy the limits that you want, and remove the override: ${unsetCommand(first, prefix)}, with your connection options`,
  };
}

/** Leaves out `--prefix` for the default prefix. */
function unsetCommand({ limiter, subject = {} }: Override, prefix: string): string {
  const ofSubject = Object.entries(subject).flatMap(([per, text]) => [
    "--subject",
    `${per}=${text}`,
  ]);
  const ofPrefix = prefix === "hg" ? [] : ["--prefix", prefix];
  const words = ["headgate", "unset", "--limiter", limiter, ...ofSubject, ...ofPrefix];
  return words.map(quoteForShell).join(" ");
}
