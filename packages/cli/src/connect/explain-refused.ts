import { HeadgateError } from "@headgate/core";
import { CommandError, EXIT, messageOf } from "../command/command-error.ts";
import type { Connection } from "./connection.ts";

/** The error of a script does not name the forbidden command on some servers. */
const REFUSED_WITHOUT_NAME = /can't run this command/;

/**
 * Waits for work on a store. If the server refuses a command inside a script without naming it, runs each reading command separately, and
 * rejects with a `CommandError` that names the forbidden ones.
 */
export async function explainRefused<T>(connection: Connection, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const cause = error instanceof HeadgateError ? error.cause : undefined;
    if (!REFUSED_WITHOUT_NAME.test(messageOf(cause))) throw error;
    const refused = await findRefusedCommands(connection);
    if (refused.length === 0) throw error;
    throw new CommandError(
      `this user may not run ${refused.join(", ").toUpperCase()}: an administrator can allow it with ACL SETUSER ... ${refused.map((command) => `+${command}`).join(" ")}`,
      EXIT.store,
      { cause: error },
    );
  }
}

async function findRefusedCommands({ client, prefix }: Connection): Promise<readonly string[]> {
  const key = `${prefix}:{control}`;
  const reads = [
    ["get", key],
    ["strlen", key],
    ["getrange", key, "0", "0"],
    ["lrange", `${key}:actions`, "0", "0"],
    ["time"],
  ] as const;
  const refused = await Promise.all(
    reads.map(async ([command, ...args]) => {
      const reply = await client.call(command, ...args).then(String, messageOf);
      return /^NOPERM.*'\w+' command/s.test(reply) ? command : undefined;
    }),
  );
  return refused.filter((command) => command !== undefined);
}
