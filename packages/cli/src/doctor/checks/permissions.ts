import type { PermissionFacts } from "../facts/facts.ts";
import { ROLES } from "../facts/facts.ts";
import type { Check } from "../finding.ts";
import { eachServer, redisCliCommand } from "../finding.ts";

const IMPACT: Readonly<Record<PermissionFacts["role"], string>> = {
  application: "Redis refuses these commands (NOPERM), and decisions are made without Redis",
  reader: "this user cannot read all counters, or the log",
  operator: "this user cannot act, or the log cannot name it",
};

export const permissions: Check = eachServer(
  "permissions",
  "permissions",
  (known, server, { prefix }) => {
    const {
      role,
      user,
      userExists,
      deniedCommands,
      deniesKeys,
      unknownCommands,
      untestedCommands,
    } = known;
    const who = user === "" ? "the user of this command" : `user ${user}`;
    const needs = ROLES[role];
    if (!userExists) {
      return {
        status: "problem",
        message: `there is no user ${user}`,
        impact: IMPACT[role],
        fix: `create it in redis-cli, with your own password instead of secret: ${formatAclCommand(user, needs, prefix)}`,
      };
    }
    if (unknownCommands.length > 0) {
      return {
        status: "problem",
        message: `the server does not know ${formatCommands(unknownCommands)}`,
        impact: "calls fail (ERR unknown command), and decisions are made without Redis",
        fix: "remove rename-command from the server's configuration file, and restart it; a managed service without these commands cannot be used",
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
        fix: "grant them; save the change with ACL SAVE if the server has an ACL file, else with CONFIG REWRITE",
        // Without the user's name there is no command that grants anything.
        ...(user === ""
          ? {}
          : { commands: [redisCliCommand(server, "ACL", "SETUSER", user, ...grants)] }),
      };
    }
    if (untestedCommands.length === needs.length) {
      return {
        status: "unknown",
        message: `the permissions of ${who} are unknown`,
        fix: "to have it checked, grant +acl|dryrun (Redis 7) to the user of this command",
      };
    }
    const all = `${who} has all ${needs.length} commands of the role ${role}, on ~${prefix}:*`;
    if (untestedCommands.length === 0) return { status: "ok", message: all };
    return {
      status: "unknown",
      message: `${who} has all commands of the role ${role} that can be tested; unknown: ${formatCommands(untestedCommands)}`,
      fix: "to have it checked, grant +acl|whoami and +acl|dryrun (Redis 7) to the user of this command",
    };
  },
);

/** The command that creates a user, as in docs/how-to/operate.md. */
function formatAclCommand(user: string, commands: readonly string[], prefix: string): string {
  const grants = commands.map((command) => `+${command}`).join(" ");
  return `ACL SETUSER ${user} on >secret ~${prefix}:* -@all ${grants}`;
}

function formatCommands(commands: readonly string[]): string {
  return commands.map((command) => command.toUpperCase().replace("|", " ")).join(", ");
}
