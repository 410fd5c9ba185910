/** Exit codes. */
export const EXIT = {
  /** A request is denied, or a problem was found. */
  found: 1,
  /** The command line, a file or an answer is invalid. */
  misuse: 2,
  /** The store does not answer, or refuses a command. */
  store: 3,
} as const;

/** An error that the user can fix. It is reported in one line without a stack trace, and the program exits with `exitCode`. */
export class CommandError extends Error {
  override readonly name: string = "CommandError";
  readonly exitCode: number;

  constructor(message: string, exitCode: number = EXIT.misuse, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}

/** The message of any thrown value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message || error.name : String(error);
}
