import type { ServerFacts } from "../facts/facts.ts";
import type { PermissionFacts } from "../facts/permissions.ts";
import type { Check, Finding } from "../finding.ts";
import { eachServer, ifKnown } from "../finding.ts";
import { redisCliCommand } from "../redis-cli-command.ts";
import { ROLES } from "../roles.ts";

const IMPACT: Readonly<Record<PermissionFacts["role"], string>> = {
  application: "Redis refuses what it may not do (NOPERM), and decisions are taken without Redis",
  reader: "it cannot read all that is counted, or the log",
  operator: "it cannot act, or cannot be named in the log",
};

export const permissions: Check = {
  name: "permissions",
  ...eachServer(
    (server, { prefix }) =>
      server.permissions &&
      ifKnown(server.permissions, (known) => checkPermissions(server, known, prefix)),
  ),
};

function checkPermissions(server: ServerFacts, facts: PermissionFacts, prefix: string): Finding {
  const { role, user, userExists, deniedCommands, deniesKeys, unknownCommands, untestedCommands } =
    facts;
  const who = user === "" ? "the user of this command" : `user ${user}`;
  const needs = ROLES[role];
  if (!userExists) {
    return {
      status: "problem",
      message: `there is no user ${user}`,
      impact: IMPACT[role],
      fix: `create it in redis-cli, with a password of your own instead of secret: ${formatAclCommand(user, needs, prefix)}`,
    };
  }
  if (unknownCommands.length > 0) {
    return {
      status: "problem",
      message: `the server does not know ${formatCommands(unknownCommands)}`,
      impact: "calls fail (ERR unknown command), and decisions are taken without Redis",
      fix: "remove rename-command from the server's configuration, and restart it; a service without these commands cannot be used",
    };
  }
  const grants = [
    ...(deniesKeys ? [`~${prefix}:*`] : []),
    ...deniedCommands.map((command) => `+${command}`),
  ];
  if (grants.length > 0) {
    return {
      status: "problem",
      message: `${who} lacks ${grants.join(" ")} for the role ${role}`,
      impact: IMPACT[role],
      fix: "grant them; ACL SAVE keeps that if the server has an ACL file, else CONFIG REWRITE",
      // A user without a name cannot be granted anything.
      ...(user === ""
        ? {}
        : { commands: [redisCliCommand(server, "ACL", "SETUSER", user, ...grants)] }),
    };
  }
  if (untestedCommands.length === needs.length) {
    return {
      status: "unknown",
      message: `what ${who} may do is not known`,
      fix: "to have it checked, grant +acl|dryrun to the user of this command; it is there since Redis 7",
    };
  }
  const all = `${who} has all ${needs.length} commands of the role ${role}, on ~${prefix}:*`;
  if (untestedCommands.length === 0) return { status: "ok", message: all };
  return {
    status: "unknown",
    message: `${who} has all commands of the role ${role} that can be tried; not known: ${formatCommands(untestedCommands)}`,
    fix: "to have it checked, grant +acl|whoami and +acl|dryrun to the user of this command; the latter is there since Redis 7",
  };
}

/** What makes a user, as docs/how-to/operate.md has it. */
function formatAclCommand(user: string, commands: readonly string[], prefix: string): string {
  const grants = commands.map((command) => `+${command}`).join(" ");
  return `ACL SETUSER ${user} on >secret ~${prefix}:* -@all ${grants}`;
}

function formatCommands(commands: readonly string[]): string {
  return commands.map((command) => command.toUpperCase().replace("|", " ")).join(", ");
}
