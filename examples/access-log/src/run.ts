import type { AccessLog } from "./access-log.ts";
import { readAccessLog } from "./access-log.ts";
import { Failure } from "./failure.ts";
import { printable } from "./printable.ts";
import { showProgress } from "./progress.ts";
import { replay } from "./replay.ts";
import { makeReport } from "./report.ts";
import { formatReport } from "./report-table.ts";
import { readSettings } from "./settings.ts";

/** Where a run is started from, and where it speaks. */
export interface Surroundings {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly stdout: NodeJS.WritableStream;
  readonly stderr: NodeJS.WritableStream;
  /** Ends the run early, leaving nothing behind; a reason that is a `Failure` is reported. */
  readonly signal: AbortSignal;
}

/** The whole program; resolves with its exit code. Rejects only for a mistake of its own. */
export async function run(args: readonly string[], surroundings: Surroundings): Promise<number> {
  try {
    await runOrThrow(args, surroundings);
    return 0;
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    surroundings.stderr.write(`start: ${error.message}\n`);
    return error.exitCode;
  }
}

async function runOrThrow(
  args: readonly string[],
  { environment, stdout, stderr, signal }: Surroundings,
): Promise<void> {
  const settings = readSettings(args, environment, (text) => stdout.write(text));
  if (settings === undefined) return;
  const log = await readAccessLog(settings.log);
  const progress = showProgress(stderr, log.entries.length);
  const sent = await replay(log, settings, {
    onRequest: progress.step,
    warn: (message) => {
      stderr.write(`start: ${message}\n`);
    },
    signal,
  }).finally(progress.stop);
  reportMalformed(log, stderr);
  const report = makeReport(settings, log, sent);
  stdout.write(settings.json ? `${JSON.stringify(report)}\n` : formatReport(report));
}

function reportMalformed({ malformed, examples }: AccessLog, stderr: NodeJS.WritableStream): void {
  for (const { number, text, reason } of examples) {
    stderr.write(`line ${number} is malformed, ${reason}: ${printable(text, 100)}\n`);
  }
  const others = malformed - examples.length;
  if (others > 0) stderr.write(`and ${others} more malformed lines\n`);
}
