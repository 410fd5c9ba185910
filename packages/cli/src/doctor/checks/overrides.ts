import type { Override } from "@headgate/core/operate";
import { commandOnKey } from "../command-at.ts";
import type { Facts } from "../facts/facts.ts";
import type { Check, Finding } from "../finding.ts";
import { ifKnown } from "../finding.ts";
import { count } from "../format-numbers.ts";

export const overrides: Check = {
  name: "overrides",
  judge: (facts) => [
    ifKnown(facts.control, (record) =>
      record === "damaged" ? judgeDamaged(facts) : judge(record.overrides),
    ),
  ],
};

function judgeDamaged({ servers: [server], prefix }: Facts): Finding {
  const key = `${prefix}:{control}`;
  return {
    status: "problem",
    found: `the control record ${key} makes no sense`,
    means: "no override is in force in a process that starts now, and nobody can act",
    mend: "deploy the version that wrote it; or delete it, and set the overrides anew",
    ...(server === undefined ? {} : { commands: [commandOnKey(server, "DEL", key)] }),
  };
}

function judge(all: readonly Override[]): Finding {
  const endless = all.filter(({ until }) => until === null);
  const shadows = endless.filter(({ shadow }) => shadow === true);
  const found = all.length === 0 ? "none" : count(all.length, "override");
  const [first] = endless;
  if (first === undefined) return { status: "ok", found };
  const call = `unsetOverride(${JSON.stringify({ limiter: first.limiter, subject: first.subject })})`;
  return {
    status: "warning",
    found: `${found}, ${endless.length} without an end: ${first.limiter}${first.subject === undefined ? "" : ` for ${Object.values(first.subject).join(", ")}`}${endless.length > 1 ? ", ..." : ""}`,
    means:
      shadows.length > 0
        ? "a limiter in shadow denies nobody, until somebody remembers"
        : "other numbers than the deployed ones hold, until somebody remembers",
    mend: `deploy what is meant, and take it away: ${call} of operate(store)`,
  };
}
