import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { CommandError } from "../command/command-error.ts";

/**
 * Reads the URL in the first line of a file. Rejects with a `CommandError` unless it is a regular file of this user that no other user
 * can read.
 */
export async function readRedisFile(path: string): Promise<string> {
  // Without O_NONBLOCK, opening a pipe would wait for a writer.
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)).catch((error) => {
    throw new CommandError(`cannot read --redis-file ${path}: ${reasonOf(error)}`, undefined, {
      cause: error,
    });
  });
  try {
    const stats = await file.stat();
    if (!stats.isFile()) throw new CommandError(`--redis-file ${path} is not a regular file`);
    const user = process.getuid?.();
    if (user !== undefined && stats.uid !== user) {
      throw new CommandError(
        `--redis-file ${path} belongs to another user: give a file of your own`,
      );
    }
    if (user !== undefined && (stats.mode & 0o077) !== 0) {
      throw new CommandError(`--redis-file ${path} is open to other users: run chmod 600 ${path}`);
    }
    const [line = ""] = (await file.readFile("utf8")).split(/\r?\n/);
    return line.trim();
  } finally {
    await file.close();
  }
}

function reasonOf({ code, message }: NodeJS.ErrnoException): string {
  if (code === "ENOENT") return "there is no such file";
  if (code === "EACCES") return "you may not read it";
  return message;
}
