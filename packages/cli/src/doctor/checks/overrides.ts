import type { Override } from "@headgate/core/operate";
import { overrideCoverageOf } from "@headgate/core/operate";
import { counted } from "../../output/number.ts";
import { formatCoverage } from "../../output/override.ts";
import { formatSubject } from "../../output/subject.ts";
import { quote } from "../../output/visible.ts";
import { commandOnKey } from "../command-at.ts";
import { Unknown } from "../facts/fact.ts";
import type { Facts } from "../facts/facts.ts";
import type { Check, Finding } from "../finding.ts";
import { ifKnown } from "../finding.ts";

export const overrides: Check = {
  name: "overrides",
  examine(facts) {
    const ignored: Finding[] = [];
    const summary = ifKnown(facts.control, (record) => {
      if (record === "damaged") return judgeDamaged(facts);
      ignored.push(...ignoredOf(record.overrides, facts));
      return judge(record.overrides, facts.prefix);
    });
    return ignored.length > 0 && summary.status === "ok" ? ignored : [...ignored, summary];
  },
};

/** The most ignored overrides that are written out. */
const WRITTEN = 5;

/** Those that listed processes ignore, some or all. */
function ignoredOf(all: readonly Override[], { directory, prefix }: Facts): readonly Finding[] {
  if (directory instanceof Unknown) return [];
  const reached = all.map((override) => ({
    override,
    reach: overrideCoverageOf(override, directory),
  }));
  const ignored = reached.filter(
    ({ reach }) => reach.state === "ignored" || reach.state === "partly",
  );
  const findings = ignored.slice(0, WRITTEN).map(
    ({ override, reach }): Finding => ({
      status: "warning",
      found: `the override of ${override.limiter} for ${formatSubject(override.subject)} is ${reach.state === "partly" ? "only in force " : ""}${formatCoverage(reach)}`,
      means: "where it is ignored, the limiter decides by its deployed limits",
      mend: `set it again with the names that headgate limiters shows, or remove it: ${unsetCommand(override, prefix)}, with the options by which you connect`,
    }),
  );
  const more = ignored.length - WRITTEN;
  if (more <= 0) return findings;
  return [
    ...findings,
    { status: "warning", found: `${more} more are ignored: headgate limiters lists them` },
  ];
}

function judgeDamaged({ servers: [server], prefix }: Facts): Finding {
  const key = `${prefix}:{control}`;
  return {
    status: "problem",
    found: `the control record ${key} cannot be read`,
    means: "no override is in force in a process that starts now, and nobody can act",
    mend: "deploy the version that wrote it; or delete it, and set the overrides anew",
    ...(server === undefined ? {} : { commands: [commandOnKey(server, "DEL", key)] }),
  };
}

function judge(all: readonly Override[], prefix: string): Finding {
  const endless = all.filter(({ until }) => until === null);
  const shadows = endless.filter(({ shadow }) => shadow === true);
  const found = all.length === 0 ? "none" : counted(all.length, "override");
  const [first] = endless;
  if (first === undefined) return { status: "ok", found };
  return {
    status: "warning",
    found: `${found}, ${endless.length} without an end: ${first.limiter}${first.subject === undefined ? "" : ` for ${Object.values(first.subject).join(", ")}`}${endless.length > 1 ? ", ..." : ""}`,
    means:
      shadows.length > 0
        ? "a limiter in shadow denies nobody, until somebody ends it"
        : "other numbers than the deployed ones are in force, until somebody removes them",
    mend: `deploy the numbers that you want, and remove the override: ${unsetCommand(first, prefix)}, with the options by which you connect`,
  };
}

/** The default prefix need not be given. */
function unsetCommand({ limiter, subject = {} }: Override, prefix: string): string {
  const ofSubject = Object.entries(subject).flatMap(([per, text]) => [
    "--subject",
    `${per}=${text}`,
  ]);
  const ofPrefix = prefix === "hg" ? [] : ["--prefix", prefix];
  const words = ["headgate", "unset", "--limiter", limiter, ...ofSubject, ...ofPrefix];
  return words.map(quote).join(" ");
}
