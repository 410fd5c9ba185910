/** The environment and the streams of a command. */
export interface Surroundings {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly stdin: NodeJS.ReadableStream;
  /** For the result only. */
  readonly stdout: NodeJS.WritableStream;
  /** For everything else: warnings, progress, questions, errors. */
  readonly stderr: NodeJS.WritableStream;
  /** Ends the command early, leaving nothing behind; a reason that is a `Failure` is reported. */
  readonly signal: AbortSignal;
}
