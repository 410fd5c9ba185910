import type { Override } from "@headgate/core/operate";
import { commandOnKey, quote } from "../command-at.ts";
import type { Facts } from "../facts/facts.ts";
import type { Check, Finding } from "../finding.ts";
import { ifKnown } from "../finding.ts";
import { count } from "../format-numbers.ts";

export const overrides: Check = {
  name: "overrides",
  judge: (facts) => [
    ifKnown(facts.control, (record) =>
      record === "damaged" ? judgeDamaged(facts) : judge(record.overrides, facts.prefix),
    ),
  ],
};

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
  const found = all.length === 0 ? "none" : count(all.length, "override");
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
