/** How a command ends. */
export const EXIT = {
  /** Denied, or something was found. */
  found: 1,
  /** The command line, a file or an answer is wrong. */
  misuse: 2,
  /** The store does not answer, or refuses. */
  store: 3,
} as const;

/** An error that the user can fix: reported in one line, without a stack; the program ends with `exitCode`. */
export class CommandError extends Error {
  override readonly name: string = "CommandError";
  readonly exitCode: number;

  constructor(message: string, exitCode: number = EXIT.misuse, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}

/** An error's message, whatever was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message || error.name : String(error);
}
