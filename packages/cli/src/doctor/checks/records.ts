import type { Override, Registry, UnreadableRecord } from "@headgate/core/admin";
import { overrideCoverageOf } from "@headgate/core/admin";
import { formatBytes, formatCount, pluralize } from "@headgate/replay/internal";
import { formatCoverage, formatSubjectLabel } from "../../output/policy.ts";
import { quoteForShell } from "../../output/terminal-text.ts";
import type { Facts, KeySample, ServerFacts } from "../facts/facts.ts";
import { UnknownFact } from "../facts/facts.ts";
import type { Check, Finding } from "../finding.ts";
import { eachServer, ifKnown, redisCliKeyCommand } from "../finding.ts";

/** The most names, keys or overrides that a check lists. */
const MAX_NAMED = 5;

export const registry: Check = {
  name: "registry",
  run(facts) {
    const { registry, servers, prefix } = facts;
    const [server] = servers;
    const findings: Finding[] = [];
    const summary = ifKnown(registry, (known) => {
      findings.push(
        ...findMixedPolicies(known),
        ...findMixedVersions(known),
        ...findUnread(known.unreadable, server, UNREAD_REGISTRY),
      );
      return summarize(known, prefix);
    });
    return findings.length > 0 ? findings : [summary];
  },
};

function summarize({ limiters, breakers, processes }: Registry, prefix: string): Finding {
  const message = [
    pluralize(limiters.length, "limiter"),
    pluralize(breakers.length, "breaker"),
    pluralize(processes.length, "process", "processes"),
  ].join(", ");
  if (processes.length > 0) return { status: "ok", message };
  return {
    status: "note",
    message: `no process is listed with the prefix ${prefix}`,
    impact:
      "no process uses this Redis with this prefix, or all of them started within the last ten seconds, or they count in their own memory",
    fix: "use the application's prefix with --prefix",
  };
}

function findMixedPolicies({ limiters, breakers, processes }: Registry): readonly Finding[] {
  const names = new Map<string, string[]>();
  for (const { name, hasOtherVersions, processes: ids } of [...limiters, ...breakers]) {
    if (hasOtherVersions)
      names.set(name, [...(names.get(name) ?? []), formatHosts(ids, processes)]);
  }
  return [...names].map(([name, hosts]) => ({
    status: "warning",
    message: `${name} has ${hosts.length} versions of its policy: one in ${hosts.join(", another in ")}`,
    impact:
      "processes apply different limits; if windows or algorithms differ, each of them admits its whole limit",
    fix: "finish the deployment; if it finished long ago, restart the processes that have the old policy",
  }));
}

function formatHosts(ids: readonly string[], processes: Registry["processes"]): string {
  const owners = processes.filter(({ id }) => ids.includes(id));
  const named = owners.slice(0, MAX_NAMED).map(({ host, pid }) => `${host}:${pid}`);
  const more = owners.length - named.length;
  return `${named.join(" ")}${more > 0 ? ` and ${more} more` : ""}`;
}

function findMixedVersions({ processes }: Registry): readonly Finding[] {
  const versions = [...new Set(processes.map(({ version }) => version))].sort();
  if (versions.length < 2) return [];
  return [
    {
      status: "note",
      message: `processes have different versions of Headgate: ${versions.join(", ")}`,
      impact: "they share counters only if their key formats are the same",
      fix: "finish the deployment",
    },
  ];
}

/** The impact of unreadable records, and how to fix them. */
interface UnreadAdvice {
  readonly impact: string;
  readonly fix: string;
}

const UNREAD_REGISTRY: UnreadAdvice = {
  impact: "the registry is incomplete: tools may not show some limiters or processes",
  fix: "delete records that are damaged or too long, and processes write them again; read records of another version with that version; missing records come back within an hour",
};

function findUnread(
  unreadable: readonly UnreadableRecord[],
  server: ServerFacts | undefined,
  advice: UnreadAdvice,
): readonly Finding[] {
  const deletable = unreadable.filter(
    ({ reason }) => reason !== "other-format" && reason !== "missing",
  );
  const keys = deletable.slice(0, MAX_NAMED).map(({ key }) => key);
  if (unreadable.length === 0) return [];
  const list = unreadable.slice(0, MAX_NAMED).map(({ key, reason }) => `${key} (${reason})`);
  return [
    {
      status: "warning",
      message: `${pluralize(unreadable.length, "record")} could not be read: ${list.join(", ")}`,
      ...advice,
      ...(server && keys.length > 0
        ? { commands: keys.map((key) => redisCliKeyCommand(server, "DEL", key)) }
        : {}),
    },
  ];
}

const UNREAD_USAGE = {
  impact: "headgate top does not show the decisions and subjects in these records",
  fix: "delete records that are damaged or too long, and processes start new ones; read records of another version with that version",
};

export const usage: Check = {
  name: "usage",
  run: ({ unreadUsage, servers: [server] }) => [
    ifKnown(unreadUsage, (unreadable) => {
      const [finding] = findUnread(unreadable, server, UNREAD_USAGE);
      return finding ?? { status: "ok", message: "all records can be read" };
    }),
  ],
};

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

function findIgnored(all: readonly Override[], { registry, prefix }: Facts): readonly Finding[] {
  if (registry instanceof UnknownFact) return [];
  const withCoverage = all.map((override) => ({
    override,
    coverage: overrideCoverageOf(override, registry),
  }));
  const ignored = withCoverage.filter(
    ({ coverage }) => coverage.state === "ignored" || coverage.state === "partial",
  );
  const findings = ignored.slice(0, MAX_NAMED).map(
    ({ override, coverage }): Finding => ({
      status: "warning",
      message: `the override of ${override.limiter} for ${formatSubjectLabel(override.subject)} is ${coverage.state === "partial" ? "only in force " : ""}${formatCoverage(coverage)}`,
      impact: "processes that ignore it use the deployed limits",
      fix: `set it again with the limit names that headgate limiters shows, or remove it: ${unsetCommand(override, prefix)}, with your connection options`,
    }),
  );
  const more = ignored.length - MAX_NAMED;
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

/** The suggested expiry for keys without one. The next admitted request sets the usual expiry again. */
const ONE_DAY_MS = "86400000";

/** The 95 % confidence interval is this many standard errors wide in each direction. */
const STANDARD_ERRORS = 1.96;

export const keys: Check = eachServer("keys", "keys", (sample, server, facts) => {
  const message = estimateKeys(sample, facts.prefix);
  const withoutExpiry = sample.inspected.filter(
    ({ key, ttlMs }) => ttlMs === undefined && !mayNeverExpire(key, facts),
  );
  if (withoutExpiry.length > 0) {
    const named = withoutExpiry.slice(0, MAX_NAMED).map(({ key }) => key);
    return {
      status: "warning",
      message: `${message}; ${withoutExpiry.length} of ${sample.inspected.length} inspected keys never expire: ${named.join(", ")}`,
      impact: "another program wrote them, or removed their expiry: they are never deleted",
      fix: "let them expire in a day; the next admitted request sets the usual expiry of a counter again",
      commands: named.map((key) => redisCliKeyCommand(server, "PEXPIRE", key, ONE_DAY_MS)),
    };
  }
  if (sample.matched > 0 || sample.total === 0) return { status: "ok", message };
  return {
    status: "note",
    message,
    impact: "no limiter counts here at present, or the application uses another prefix",
    fix: "use the application's prefix with --prefix",
  };
});

/** The control record never expires while an override or a deny-list entry has no end. */
function mayNeverExpire(key: string, { control, prefix }: Facts): boolean {
  if (key !== `${prefix}:{control}` || control instanceof UnknownFact || control === "damaged") {
    return key === `${prefix}:{control}`;
  }
  const { overrides, denyList = [] } = control;
  return [...overrides, ...denyList].some(({ until }) => until === null);
}

/** Estimates the number of keys with the prefix and their memory, each with its margin of error. */
function estimateKeys(
  { total, scanned, matched, isComplete, inspected }: KeySample,
  prefix: string,
): string {
  const share = scanned === 0 ? 0 : matched / scanned;
  const number = isComplete ? matched : Math.round(share * total);
  const numberError = isComplete
    ? 0
    : STANDARD_ERRORS * Math.sqrt((share * (1 - share)) / scanned) * total;
  const numberMargin =
    numberError >= 1 ? `, give or take ${formatCount(Math.round(numberError))},` : "";
  const head = `${pluralize(number, "key")}${numberMargin} of ${formatCount(total)} begin with ${prefix}:`;
  const bytes = inspected.flatMap((one) => (one.bytes === undefined ? [] : [one.bytes]));
  if (bytes.length === 0) return head;
  const mean = bytes.reduce((sum, one) => sum + one, 0) / bytes.length;
  const variance = bytes.reduce((sum, one) => sum + (one - mean) ** 2, 0) / bytes.length;
  const isAll = isComplete && bytes.length === matched;
  const meanError = isAll ? 0 : STANDARD_ERRORS * Math.sqrt(variance / bytes.length) * number;
  const error = Math.hypot(meanError, numberError * mean);
  const bytesMargin = error >= 1 ? `, give or take ${formatBytes(error)}` : "";
  return `${head}, and take ${formatBytes(mean * number)}${bytesMargin}`;
}
