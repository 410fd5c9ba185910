import { access, constants, open, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { escapeHidden } from "@headgate/replay/internal";
import type { CommandContext } from "../command/cli.ts";
import { CommandError, messageOf } from "../command/command-error.ts";

/** Rejects with a `CommandError` if a report cannot be written to the file. It is called first, because a replay may take minutes. Writes nothing. */
export async function requireWritable(file: string): Promise<void> {
  try {
    const handle = await open(file, "r+").catch(async (error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT") throw error;
      await access(dirname(file), constants.W_OK);
    });
    await handle?.close();
  } catch (error) {
    throw cannotWriteError(file, error);
  }
}

/** Writes a report, one HTML file. Rejects with a `CommandError`. */
export async function writeReport(
  file: string,
  page: string,
  { stderr }: CommandContext,
): Promise<void> {
  try {
    await writeFile(file, page);
  } catch (error) {
    throw cannotWriteError(file, error);
  }
  stderr.write(`headgate: wrote the report ${escapeHidden(file)}\n`);
}

function cannotWriteError(file: string, error: unknown): CommandError {
  return new CommandError(`cannot write the report ${file}: ${messageOf(error)}`, undefined, {
    cause: error,
  });
}
