import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

const NAMES = ["redis-server", "valkey-server"];

/** The server to test on: the one that HEADGATE_REDIS_SERVER names, by path or by command, or the first on PATH. */
export function findRedisServer(): string | undefined {
  const wanted = process.env["HEADGATE_REDIS_SERVER"];
  if (wanted) return [wanted].find(isExecutable) ?? onPath(wanted);
  for (const name of NAMES) {
    const found = onPath(name);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Where a command is, as the shell would find it. */
export function onPath(command: string): string | undefined {
  const dirs = (process.env["PATH"] ?? "").split(delimiter).filter((dir) => dir !== "");
  return dirs.map((dir) => join(dir, command)).find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
