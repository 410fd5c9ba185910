import type { Registry, UnreadableRecord } from "@headgate/core/operate";
import { counted } from "../../output/number.ts";
import { commandOnKey } from "../command-at.ts";
import { Unknown } from "../facts/fact.ts";
import type { ServerFacts } from "../facts/facts.ts";
import type { Check, Finding } from "../finding.ts";
import { ifKnown } from "../finding.ts";

/** The most names that are written out. */
const NAMED = 5;

export const directory: Check = {
  name: "directory",
  examine(facts) {
    const { directory, servers, prefix } = facts;
    const [server] = servers;
    const findings: Finding[] = [];
    const summary = ifKnown(directory, (known) => {
      findings.push(
        ...mixedIn(known),
        ...versionsIn(known),
        ...unreadIn(known.unread, server, UNREAD_DIRECTORY),
      );
      return summaryOf(known, prefix);
    });
    return findings.length > 0 ? findings : [summary];
  },
};

function summaryOf({ limiters, breakers, processes }: Registry, prefix: string): Finding {
  const found = [
    counted(limiters.length, "limiter"),
    counted(breakers.length, "breaker"),
    counted(processes.length, "process", "processes"),
  ].join(", ");
  if (processes.length > 0) return { status: "ok", found };
  return {
    status: "note",
    found: `no process is listed under the prefix ${prefix}`,
    means:
      "no process counts here, or all started within the last ten seconds, or they use another prefix or their own memory",
    mend: "give --prefix as the application has it",
  };
}

/** Limiters and breakers that have several policies under one name. */
function mixedIn({ limiters, breakers, processes }: Registry): readonly Finding[] {
  const names = new Map<string, string[]>();
  for (const { name, isMixed, processes: ids } of [...limiters, ...breakers]) {
    if (isMixed) names.set(name, [...(names.get(name) ?? []), hostsOf(ids, processes)]);
  }
  return [...names].map(([name, hosts]) => ({
    status: "warning",
    found: `${name} has ${hosts.length} policies: one in ${hosts.join(", another in ")}`,
    means:
      "processes count by different limits; where windows or algorithms differ, each gives its whole limit",
    mend: "finish the deploy; when it is long over, restart the processes that have the old policy",
  }));
}

function hostsOf(ids: readonly string[], processes: Registry["processes"]): string {
  const owners = processes.filter(({ id }) => ids.includes(id));
  const named = owners.slice(0, NAMED).map(({ host, pid }) => `${host}:${pid}`);
  const more = owners.length - named.length;
  return `${named.join(" ")}${more > 0 ? ` and ${more} more` : ""}`;
}

function versionsIn({ processes }: Registry): readonly Finding[] {
  const versions = [...new Set(processes.map(({ version }) => version))].sort();
  if (versions.length < 2) return [];
  return [
    {
      status: "note",
      found: `processes have different versions of Headgate: ${versions.join(", ")}`,
      means: "they count in the same keys only where the formats are the same",
      mend: "finish the deploy",
    },
  ];
}

/** What records that cannot be read mean, and what mends that. */
interface Parts {
  readonly means: string;
  readonly mend: string;
}

const UNREAD_DIRECTORY: Parts = {
  means: "the directory is not whole: a limiter or a process may be missing in what tools show",
  mend: "delete what is damaged or too long, processes write it again; what another version wrote, read with that one; what is missing comes back within an hour",
};

function unreadIn(
  unread: readonly UnreadableRecord[],
  server: ServerFacts | undefined,
  parts: Parts,
): readonly Finding[] {
  const written = unread.filter(({ why }) => why !== "other-format" && why !== "missing");
  const keys = written.slice(0, NAMED).map(({ key }) => key);
  if (unread.length === 0) return [];
  const list = unread.slice(0, NAMED).map(({ key, why }) => `${key} (${why})`);
  return [
    {
      status: "warning",
      found: `${counted(unread.length, "record")} could not be read: ${list.join(", ")}`,
      ...parts,
      ...(server && keys.length > 0
        ? { commands: keys.map((key) => commandOnKey(server, "DEL", key)) }
        : {}),
    },
  ];
}

const UNREAD_USAGE = {
  means: "headgate top leaves out the decisions or subjects that were counted there",
  mend: "delete what is damaged or too long, processes count there anew; what another version wrote, read with that one",
};

/** Says nothing where all of it can be read, or none is kept. */
export const usage: Check = {
  name: "usage",
  examine: ({ unreadUsage, servers: [server] }) =>
    unreadUsage instanceof Unknown ? [] : unreadIn(unreadUsage, server, UNREAD_USAGE),
};
