import type { Registry, UnreadableRecord } from "@headgate/core/admin";
import { pluralize } from "../../output/number.ts";
import type { ServerFacts } from "../facts/facts.ts";
import type { Check, Finding } from "../finding.ts";
import { ifKnown } from "../finding.ts";
import { redisCliKeyCommand } from "../redis-cli-command.ts";

/** The most names that a finding lists. */
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

/** Warns about limiters and breakers with several policies under one name. */
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
