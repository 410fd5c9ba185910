/** The environment and the streams of a run. */
export interface Surroundings {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly stdout: NodeJS.WritableStream;
  readonly stderr: NodeJS.WritableStream;
  /** Ends the run early, leaving nothing behind; a reason that is a `Failure` is reported. */
  readonly signal: AbortSignal;
}
