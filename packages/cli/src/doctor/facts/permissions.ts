import type { Role } from "../roles.ts";
import { ROLES } from "../roles.ts";
import type { ServerConnection } from "./fact.ts";
import { redactedMessage } from "./fact.ts";

/** What a user lacks for a role. */
export interface PermissionFacts {
  readonly role: Role;
  /** Empty where the server would not say who it is. */
  readonly user: string;
  /** Whether there is such a user. */
  readonly userExists: boolean;
  /** Commands that are refused. */
  readonly deniedCommands: readonly string[];
  /** Whether keys of the prefix are refused. */
  readonly deniesKeys: boolean;
  /** Commands that the server does not know: `rename-command`, or a service that leaves them out. */
  readonly unknownCommands: readonly string[];
  /** Commands whose permission is not known. */
  readonly untestedCommands: readonly string[];
}

type PermissionResult = "allowed" | "lacking" | "lacks-keys" | "missing" | "no-user" | "untold";

/** A command with arguments that change nothing where the key is absent; some change something all the same. */
interface PermissionTest {
  readonly args: (key: string) => readonly string[];
  readonly writes?: true;
}

const PERMISSION_TESTS: Readonly<Record<string, PermissionTest>> = {
  evalsha: { args: (key) => ["EVALSHA", "0".repeat(40), "1", key] },
  eval: { args: (key) => ["EVAL", "return 0", "1", key] },
  get: { args: (key) => ["GET", key] },
  set: { args: (key) => ["SET", key, "", "PX", "1", "XX"] },
  del: { args: (key) => ["DEL", key] },
  strlen: { args: (key) => ["STRLEN", key] },
  getrange: { args: (key) => ["GETRANGE", key, "0", "0"] },
  setrange: { args: (key) => ["SETRANGE", key, "0", ""] },
  pexpire: { args: (key) => ["PEXPIRE", key, "1"] },
  time: { args: () => ["TIME"] },
  lrange: { args: (key) => ["LRANGE", key, "0", "0"] },
  ltrim: { args: (key) => ["LTRIM", key, "0", "-1"] },
  lpush: { args: (key) => ["LPUSH", key, ""], writes: true },
  "acl|whoami": { args: () => ["ACL", "WHOAMI"] },
};

/**
 * Finds out what the user who is connected, or another one, lacks for a role. ACL DRYRUN says so since Redis 7; where it may not be
 * asked, and of the connected user, each command is tried on a key that does not exist. Rejects where the server does not answer.
 */
export async function readPermissions(
  server: ServerConnection,
  role: Role,
  prefix: string,
  aclUser: string | undefined,
): Promise<PermissionFacts> {
  const user = aclUser ?? (await readUserName(server));
  const key = `${prefix}:{doctor}:trial`;
  const canDryRun = user !== "" && (await dryRun(server, user, ["TIME"])) !== "untold";
  const results = new Map<string, PermissionResult>();
  for (const command of ROLES[role]) {
    const { args, writes } = PERMISSION_TESTS[command] as PermissionTest;
    if (canDryRun) results.set(command, await dryRun(server, user, args(key)));
    else if (aclUser !== undefined || writes) results.set(command, "untold");
    else results.set(command, await tryCommand(server, args(key)));
  }
  const commandsWith = (outcome: PermissionResult): string[] =>
    [...results].filter(([, other]) => other === outcome).map(([command]) => command);
  return {
    role,
    user,
    userExists: commandsWith("no-user").length === 0,
    deniedCommands: commandsWith("lacking"),
    deniesKeys: commandsWith("lacks-keys").length > 0,
    unknownCommands: commandsWith("missing"),
    untestedCommands: commandsWith("untold"),
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
    const said = String(await server.call("ACL", "DRYRUN", user, ...args));
    if (said === "OK") return "allowed";
    return /access/.test(said) ? "lacks-keys" : "lacking";
  } catch (error) {
    const said = redactedMessage(error);
    if (/^ERR User /i.test(said)) return "no-user";
    return /^ERR Command .* not found/i.test(said) ? "missing" : "untold";
  }
}

/** A refusal for lack of a permission comes before any other. */
async function tryCommand(
  server: ServerConnection,
  args: readonly string[],
): Promise<PermissionResult> {
  try {
    await server.call(args[0] as string, ...args.slice(1));
    return "allowed";
  } catch (error) {
    const said = redactedMessage(error);
    if (/^NOPERM.*access/i.test(said)) return "lacks-keys";
    if (/^NOPERM/.test(said)) return "lacking";
    if (/^ERR unknown (sub)?command/i.test(said)) return "missing";
    return /^[A-Z]+ /.test(said) ? "allowed" : "untold";
  }
}
