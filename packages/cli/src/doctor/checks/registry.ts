import type { Registry, UnreadableRecord } from "@headgate/core/admin";
import { pluralize } from "../../output/number.ts";
import { UnknownFact } from "../facts/fact.ts";
import type { ServerFacts } from "../facts/facts.ts";
import type { Check, Finding } from "../finding.ts";
import { ifKnown } from "../finding.ts";
import { redisCliKeyCommand } from "../redis-cli-command.ts";

/** The most names that are written out. */
const MAX_NAMED = 5;

export const registry: Check = {
  name: "directory",
  run(facts) {
    const { registry, servers, prefix } = facts;
    const [server] = servers;
    const findings: Finding[] = [];
    const summary = ifKnown(registry, (known) => {
      findings.push(
        ...findMixedPolicies(known),
        ...findMixedVersions(known),
        ...findUnread(known.unread, server, UNREAD_REGISTRY),
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
    message: `no process is listed under the prefix ${prefix}`,
    impact:
      "no process counts here, or all started within the last ten seconds, or they use another prefix or their own memory",
    fix: "give --prefix as the application has it",
  };
}

/** Limiters and breakers that have several policies under one name. */
function findMixedPolicies({ limiters, breakers, processes }: Registry): readonly Finding[] {
  const names = new Map<string, string[]>();
  for (const { name, isMixed, processes: ids } of [...limiters, ...breakers]) {
    if (isMixed) names.set(name, [...(names.get(name) ?? []), formatHosts(ids, processes)]);
  }
  return [...names].map(([name, hosts]) => ({
    status: "warning",
    found: `${name} has ${hosts.length} policies: one in ${hosts.join(", another in ")}`,
    means:
      "processes count by different limits; where windows or algorithms differ, each gives its whole limit",
    mend: "finish the deploy; when it is long over, restart the processes that have the old policy",
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
      impact: "they count in the same keys only where the formats are the same",
      fix: "finish the deploy",
    },
  ];
}

/** What records that cannot be read mean, and what mends that. */
interface UnreadAdvice {
  readonly impact: string;
  readonly fix: string;
}

const UNREAD_REGISTRY: UnreadAdvice = {
  impact: "the directory is not whole: a limiter or a process may be missing in what tools show",
  fix: "delete what is damaged or too long, processes write it again; what another version wrote, read with that one; what is missing comes back within an hour",
};

function findUnread(
  unread: readonly UnreadableRecord[],
  server: ServerFacts | undefined,
  advice: UnreadAdvice,
): readonly Finding[] {
  const deletable = unread.filter(({ why }) => why !== "other-format" && why !== "missing");
  const keys = deletable.slice(0, MAX_NAMED).map(({ key }) => key);
  if (unread.length === 0) return [];
  const list = unread.slice(0, MAX_NAMED).map(({ key, why }) => `${key} (${why})`);
  return [
    {
      status: "warning",
      message: `${pluralize(unread.length, "record")} could not be read: ${list.join(", ")}`,
      ...advice,
      ...(server && keys.length > 0
        ? { commands: keys.map((key) => redisCliKeyCommand(server, "DEL", key)) }
        : {}),
    },
  ];
}

const UNREAD_USAGE = {
  impact: "headgate top leaves out the decisions or subjects that were counted there",
  fix: "delete what is damaged or too long, processes count there anew; what another version wrote, read with that one",
};

/** Says nothing where all of it can be read, or none is kept. */
export const usage: Check = {
  name: "usage",
  run: ({ unreadUsage, servers: [server] }) =>
    unreadUsage instanceof UnknownFact ? [] : findUnread(unreadUsage, server, UNREAD_USAGE),
};
