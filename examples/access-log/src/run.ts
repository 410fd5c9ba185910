import type { ReplayedLog } from "@headgate/cli/replay";
import { CommandError, writeReport } from "@headgate/cli/replay";
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
    const isOfReplay = error instanceof CommandError;
    if (!isOfReplay && !(error instanceof Failure)) throw error;
    surroundings.stderr.write(`start: ${error.message}\n`);
    // The command has more codes.
    return isOfReplay ? 1 : error.exitCode;
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
  await writeReport(settings.html, result);
  const where = `The report, for a browser: ${settings.html}\n`;
  if (settings.json) stderr.write(where);
  else stdout.write(`\n${where}`);
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
  if (late > 0) stderr.write(`lines that came too late to be put in order: ${late}\n`);
  if (evicted > 0)
    stderr.write(
      `subjects that memory had no room for, so that denials may be missing: ${evicted}\n`,
    );
}
