import { writeFile } from "node:fs/promises";
import { Failure, messageOf } from "../command/failure.ts";
import type { ReplayResult } from "../replay/result.ts";

/** Writes the report of a replay, one HTML file. Rejects with a `Failure`. */
export async function writeReport(file: string, result: ReplayResult): Promise<void> {
  // Charts take a while to load, and most runs draw none.
  const { renderReport } = await import("./render-report.ts");
  try {
    await writeFile(file, renderReport(result));
  } catch (error) {
    throw new Failure(`cannot write the report ${file}: ${messageOf(error)}`, undefined, {
      cause: error,
    });
  }
}
