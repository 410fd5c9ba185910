import { commandAt } from "../command-at.ts";
import type { ServerFacts } from "../facts/facts.ts";
import type { PermissionFacts } from "../facts/permissions.ts";
import type { Check, Finding } from "../finding.ts";
import { eachServer, ifKnown } from "../finding.ts";
import { ROLES } from "../roles.ts";

const MEANS: Readonly<Record<PermissionFacts["role"], string>> = {
  application: "Redis refuses what it may not do (NOPERM), and decisions are taken without Redis",
  reader: "it cannot read all that is counted, or the log",
  operator: "it cannot act, or cannot be named in the log",
};

export const permissions: Check = {
  name: "permissions",
  ...eachServer(
    (server, { prefix }) =>
      server.permissions && ifKnown(server.permissions, (known) => judge(server, known, prefix)),
  ),
};

function judge(server: ServerFacts, facts: PermissionFacts, prefix: string): Finding {
  const { role, user, exists, lacking, lacksKeys, missing, untold } = facts;
  const who = user === "" ? "the user of this command" : `user ${user}`;
  const needs = ROLES[role];
  if (!exists) {
    return {
      status: "problem",
      found: `there is no user ${user}`,
      means: MEANS[role],
      mend: `create it in redis-cli, with a password of your own instead of secret: ${aclLine(user, needs, prefix)}`,
    };
  }
  if (missing.length > 0) {
    return {
      status: "problem",
      found: `the server does not know ${listOf(missing)}`,
      means: "calls fail (ERR unknown command), and decisions are taken without Redis",
      mend: "remove rename-command from the server's configuration, and restart it; a service without these commands cannot be used",
    };
  }
  const grants = [
    ...(lacksKeys ? [`~${prefix}:*`] : []),
    ...lacking.map((command) => `+${command}`),
  ];
  if (grants.length > 0) {
    return {
      status: "problem",
      found: `${who} lacks ${grants.join(" ")} for the role ${role}`,
      means: MEANS[role],
      mend: "grant them; ACL SAVE keeps that if the server has an ACL file, else CONFIG REWRITE",
      // A user without a name cannot be granted anything.
      ...(user === "" ? {} : { commands: [commandAt(server, "ACL", "SETUSER", user, ...grants)] }),
    };
  }
  if (untold.length === needs.length) {
    return {
      status: "unknown",
      found: `what ${who} may do is not known`,
      mend: "to have it checked, grant +acl|dryrun to the user of this command; it is there since Redis 7",
    };
  }
  const all = `${who} has all ${needs.length} commands of the role ${role}, on ~${prefix}:*`;
  if (untold.length === 0) return { status: "ok", found: all };
  return {
    status: "unknown",
    found: `${who} has all commands of the role ${role} that can be tried; not known: ${listOf(untold)}`,
    mend: "to have it checked, grant +acl|whoami and +acl|dryrun to the user of this command; the latter is there since Redis 7",
  };
}

/** What makes a user, as docs/how-to/operate.md has it. */
function aclLine(user: string, commands: readonly string[], prefix: string): string {
  const grants = commands.map((command) => `+${command}`).join(" ");
  return `ACL SETUSER ${user} on >secret ~${prefix}:* -@all ${grants}`;
}

function listOf(commands: readonly string[]): string {
  return commands.map((command) => command.toUpperCase().replace("|", " ")).join(", ");
}
