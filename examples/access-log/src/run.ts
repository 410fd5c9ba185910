import { writeFile } from "node:fs/promises";
import { HeadgateError } from "@headgate/core";
import type { ReplayedLog } from "@headgate/replay";
import { renderReport } from "@headgate/replay";
import { Failure } from "./failure.ts";
import { printable } from "./printable.ts";
import { replay } from "./replay.ts";
import { makeReport } from "./report.ts";
import { formatReport } from "./report-table.ts";
import { readSettings } from "./settings.ts";
import type { Surroundings } from "./surroundings.ts";

/** The whole program; resolves with its exit code. Rejects only for internal errors. */
export async function run(args: readonly string[], surroundings: Surroundings): Promise<number> {
  try {
    await runOrThrow(args, surroundings);
    return 0;
  } catch (error) {
    if (!(error instanceof HeadgateError) && !(error instanceof Failure)) throw error;
    surroundings.stderr.write(`start: ${error.message}\n`);
    return error instanceof Failure ? error.exitCode : 1;
  }
}

async function runOrThrow(args: readonly string[], surroundings: Surroundings): Promise<void> {
  const { environment, stdout, stderr } = surroundings;
  const settings = readSettings(args, environment, (text) => stdout.write(text));
  if (settings === undefined) return;
  const replayed = await replay(settings, surroundings);
  const { result } = replayed;
  reportRead(result.log, result.policies[0]?.evicted ?? 0, stderr);
  const report = makeReport(settings, replayed);
  stdout.write(settings.json ? `${JSON.stringify(report)}\n` : formatReport(report));
  if (settings.html === undefined) return;
  await writeReport(settings.html, renderReport(result));
  const where = `The report, for a browser: ${settings.html}\n`;
  if (settings.json) stderr.write(where);
  else stdout.write(`\n${where}`);
}

async function writeReport(path: string, page: string): Promise<void> {
  try {
    await writeFile(path, page);
  } catch (error) {
    const { message } = error as Error;
    throw new Failure(`cannot write the report ${path}: ${message}`, 1, { cause: error });
  }
}

/** Says why counts may differ from what one expects. */
function reportRead(
  { lines, malformed, examples, late }: ReplayedLog,
  evicted: number,
  stderr: NodeJS.WritableStream,
): void {
  for (const { number, text, reason } of examples) {
    stderr.write(`line ${number} is skipped, ${reason}: ${printable(text, 100)}\n`);
  }
  if (malformed > 0) stderr.write(`skipped ${malformed} of ${lines} lines\n`);
  if (late > 0) {
    stderr.write(
      `requests too far out of order to be sorted, so that denials near them may be wrong: ${late}\n`,
    );
  }
  if (evicted > 0)
    stderr.write(
      `subjects that memory had no room for, so that denials may be missing: ${evicted}\n`,
    );
}
