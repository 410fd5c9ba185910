import type { PermissionFacts, Role, ServerConnection } from "./facts.ts";
import { ROLES, redactedMessage } from "./facts.ts";

type PermissionResult =
  | "allowed"
  | "command-denied"
  | "keys-denied"
  | "unknown-command"
  | "unknown-user"
  | "untested";

/** A command with arguments that change nothing if the key is absent. `writes` marks commands for which there are none. */
interface PermissionTest {
  readonly args: (key: string) => readonly string[];
  readonly writes?: true;
}

const PERMISSION_TESTS: Readonly<Record<string, PermissionTest>> = {
  evalsha: { args: (key) => ["EVALSHA", "0".repeat(40), "1", key] },
  eval: { args: (key) => ["EVAL", "return 0", "1", key] },
  get: { args: (key) => ["GET", key] },
  exists: { args: (key) => ["EXISTS", key] },
  set: { args: (key) => ["SET", key, "", "PX", "1", "XX"] },
  del: { args: (key) => ["DEL", key] },
  strlen: { args: (key) => ["STRLEN", key] },
  getrange: { args: (key) => ["GETRANGE", key, "0", "0"] },
  setrange: { args: (key) => ["SETRANGE", key, "0", ""] },
  pexpire: { args: (key) => ["PEXPIRE", key, "1"] },
  time: { args: () => ["TIME"] },
  hlen: { args: (key) => ["HLEN", key] },
  hgetall: { args: (key) => ["HGETALL", key] },
  hmget: { args: (key) => ["HMGET", key, "x"] },
  hset: { args: (key) => ["HSET", key, "x", "x", "x"] },
  hdel: { args: (key) => ["HDEL", key, "x"] },
  zcard: { args: (key) => ["ZCARD", key] },
  zrange: { args: (key) => ["ZRANGE", key, "0", "0"] },
  zmscore: { args: (key) => ["ZMSCORE", key, "x"] },
  zadd: { args: (key) => ["ZADD", key, "XX", "0", "x"] },
  zrem: { args: (key) => ["ZREM", key, "x"] },
  zremrangebyrank: { args: (key) => ["ZREMRANGEBYRANK", key, "0", "0"] },
  zremrangebyscore: { args: (key) => ["ZREMRANGEBYSCORE", key, "0", "0"] },
  lrange: { args: (key) => ["LRANGE", key, "0", "0"] },
  ltrim: { args: (key) => ["LTRIM", key, "0", "-1"] },
  lpush: { args: (key) => ["LPUSH", key, ""], writes: true },
  "acl|whoami": { args: () => ["ACL", "WHOAMI"] },
};

/**
 * Compares the permissions of the connected user, or of another one, with those that a role needs. Uses ACL DRYRUN (Redis 7). Without
 * it, each command is tried on an absent key, which works for the connected user only. Rejects if the server does not answer.
 */
export async function readPermissions(
  server: ServerConnection,
  role: Role,
  prefix: string,
  aclUser: string | undefined,
): Promise<PermissionFacts> {
  const user = aclUser ?? (await readUserName(server));
  const key = `${prefix}:{doctor}:trial`;
  const canDryRun = user !== "" && (await dryRun(server, user, ["TIME"])) !== "untested";
  const results = new Map<string, PermissionResult>();
  for (const command of ROLES[role]) {
    const { args, writes } = PERMISSION_TESTS[command] as PermissionTest;
    if (canDryRun) results.set(command, await dryRun(server, user, args(key)));
    else if (aclUser !== undefined || writes) results.set(command, "untested");
    else results.set(command, await tryCommand(server, args(key)));
  }
  const commandsWith = (outcome: PermissionResult): string[] =>
    [...results].filter(([, other]) => other === outcome).map(([command]) => command);
  return {
    role,
    user,
    userExists: commandsWith("unknown-user").length === 0,
    deniedCommands: commandsWith("command-denied"),
    deniesKeys: commandsWith("keys-denied").length > 0,
    unknownCommands: commandsWith("unknown-command"),
    untestedCommands: commandsWith("untested"),
  };
}

async function readUserName(server: ServerConnection): Promise<string> {
  try {
    return String(await server.call("ACL", "WHOAMI"));
  } catch {
    return "";
  }
}

async function dryRun(
  server: ServerConnection,
  user: string,
  args: readonly string[],
): Promise<PermissionResult> {
  try {
    const reply = String(await server.call("ACL", "DRYRUN", user, ...args));
    if (reply === "OK") return "allowed";
    return /access/.test(reply) ? "keys-denied" : "command-denied";
  } catch (error) {
    const message = redactedMessage(error);
    if (/^ERR User /i.test(message)) return "unknown-user";
    return /^ERR Command .* not found/i.test(message) ? "unknown-command" : "untested";
  }
}

/** Redis checks permissions before arguments, so any other error reply means that the command is allowed. */
async function tryCommand(
  server: ServerConnection,
  args: readonly string[],
): Promise<PermissionResult> {
  try {
    await server.call(args[0] as string, ...args.slice(1));
    return "allowed";
  } catch (error) {
    const message = redactedMessage(error);
    if (/^NOPERM.*access/i.test(message)) return "keys-denied";
    if (/^NOPERM/.test(message)) return "command-denied";
    if (/^ERR unknown (sub)?command/i.test(message)) return "unknown-command";
    return /^[A-Z]+ /.test(message) ? "allowed" : "untested";
  }
}
