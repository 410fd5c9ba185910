import { access, constants, open, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { CommandError, messageOf } from "../command/command-error.ts";
import { escapeHidden } from "../output/terminal-text.ts";
import type { Recommendation } from "../recommend/recommendation.ts";
import type { ReplayResult } from "../replay/result.ts";

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

/** Writes the report of a replay, one HTML file. Rejects with a `CommandError`. */
export async function writeReport(file: string, result: ReplayResult): Promise<void> {
  // Loaded on demand, because most runs draw no charts.
  const { renderReport } = await import("./render-report.ts");
  await write(file, renderReport(result));
}

/** Writes the report of a recommendation and of the replay that proves it. Rejects with a `CommandError`. */
export async function writeRecommendation(
  file: string,
  result: ReplayResult,
  recommendation: Recommendation,
): Promise<void> {
  const { renderRecommendation } = await import("./render-report.ts");
  await write(file, renderRecommendation(result, recommendation));
}

async function write(file: string, page: string): Promise<void> {
  try {
    await writeFile(file, page);
  } catch (error) {
    throw cannotWriteError(file, error);
  }
}

export function formatWritten(file: string): string {
  return `headgate: wrote the report ${escapeHidden(file)}\n`;
}

function cannotWriteError(file: string, error: unknown): CommandError {
  return new CommandError(`cannot write the report ${file}: ${messageOf(error)}`, undefined, {
    cause: error,
  });
}
