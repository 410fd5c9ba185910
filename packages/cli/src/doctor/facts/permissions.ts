import type { Role } from "../roles.ts";
import { ROLES } from "../roles.ts";
import type { Asker } from "./fact.ts";
import { wordsOf } from "./fact.ts";

/** What a user lacks for a role. */
export interface PermissionFacts {
  readonly role: Role;
  /** Empty where the server would not say who it is. */
  readonly user: string;
  /** Whether there is such a user. */
  readonly exists: boolean;
  /** Commands that are refused. */
  readonly lacking: readonly string[];
  /** Whether keys of the prefix are refused. */
  readonly lacksKeys: boolean;
  /** Commands that the server does not know: `rename-command`, or a service that leaves them out. */
  readonly missing: readonly string[];
  /** Commands whose permission is not known. */
  readonly untold: readonly string[];
}

type Outcome = "allowed" | "lacking" | "lacks-keys" | "missing" | "no-user" | "untold";

/** A command with arguments that change nothing where the key is absent; some change something all the same. */
interface Trial {
  readonly words: (key: string) => readonly string[];
  readonly writes?: true;
}

const TRIALS: Readonly<Record<string, Trial>> = {
  evalsha: { words: (key) => ["EVALSHA", "0".repeat(40), "1", key] },
  eval: { words: (key) => ["EVAL", "return 0", "1", key] },
  get: { words: (key) => ["GET", key] },
  set: { words: (key) => ["SET", key, "", "PX", "1", "XX"] },
  del: { words: (key) => ["DEL", key] },
  strlen: { words: (key) => ["STRLEN", key] },
  getrange: { words: (key) => ["GETRANGE", key, "0", "0"] },
  setrange: { words: (key) => ["SETRANGE", key, "0", ""] },
  pexpire: { words: (key) => ["PEXPIRE", key, "1"] },
  time: { words: () => ["TIME"] },
  lrange: { words: (key) => ["LRANGE", key, "0", "0"] },
  ltrim: { words: (key) => ["LTRIM", key, "0", "-1"] },
  lpush: { words: (key) => ["LPUSH", key, ""], writes: true },
  "acl|whoami": { words: () => ["ACL", "WHOAMI"] },
};

/**
 * Finds out what the user who is connected, or another one, lacks for a role. ACL DRYRUN says so since Redis 7; where it may not be
 * asked, and of the connected user, each command is tried on a key that does not exist. Rejects where the server does not answer.
 */
export async function readPermissions(
  server: Asker,
  role: Role,
  prefix: string,
  as: string | undefined,
): Promise<PermissionFacts> {
  const user = as ?? (await whoAmI(server));
  const key = `${prefix}:{doctor}:trial`;
  const canDryRun = user !== "" && (await dryRun(server, user, ["TIME"])) !== "untold";
  const outcomes = new Map<string, Outcome>();
  for (const command of ROLES[role]) {
    const { words, writes } = TRIALS[command] as Trial;
    if (canDryRun) outcomes.set(command, await dryRun(server, user, words(key)));
    else if (as !== undefined || writes) outcomes.set(command, "untold");
    else outcomes.set(command, await attempt(server, words(key)));
  }
  const those = (outcome: Outcome): string[] =>
    [...outcomes].filter(([, other]) => other === outcome).map(([command]) => command);
  return {
    role,
    user,
    exists: those("no-user").length === 0,
    lacking: those("lacking"),
    lacksKeys: those("lacks-keys").length > 0,
    missing: those("missing"),
    untold: those("untold"),
  };
}

async function whoAmI(server: Asker): Promise<string> {
  try {
    return String(await server.ask("ACL", "WHOAMI"));
  } catch {
    return "";
  }
}

async function dryRun(server: Asker, user: string, words: readonly string[]): Promise<Outcome> {
  try {
    const said = String(await server.ask("ACL", "DRYRUN", user, ...words));
    if (said === "OK") return "allowed";
    return /access/.test(said) ? "lacks-keys" : "lacking";
  } catch (error) {
    const said = wordsOf(error);
    if (/^ERR User /i.test(said)) return "no-user";
    return /^ERR Command .* not found/i.test(said) ? "missing" : "untold";
  }
}

/** A refusal for lack of a permission comes before any other. */
async function attempt(server: Asker, words: readonly string[]): Promise<Outcome> {
  try {
    await server.ask(words[0] as string, ...words.slice(1));
    return "allowed";
  } catch (error) {
    const said = wordsOf(error);
    if (/^NOPERM.*access/i.test(said)) return "lacks-keys";
    if (/^NOPERM/.test(said)) return "lacking";
    if (/^ERR unknown (sub)?command/i.test(said)) return "missing";
    return /^[A-Z]+ /.test(said) ? "allowed" : "untold";
  }
}
