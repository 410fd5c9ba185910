/** Where a command is started from, and where it speaks. */
export interface Surroundings {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly stdin: NodeJS.ReadableStream;
  /** What was asked for, and nothing else. */
  readonly stdout: NodeJS.WritableStream;
  /** Everything else: warnings, progress, questions, errors. */
  readonly stderr: NodeJS.WritableStream;
  /** Ends the command early, leaving nothing behind; a reason that is a `Failure` is reported. */
  readonly signal: AbortSignal;
}
