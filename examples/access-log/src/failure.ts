/** An error that the user can fix: reported in one line, without a stack; the program ends with `exitCode`. */
export class Failure extends Error {
  override readonly name: string = "Failure";
  readonly exitCode: number;

  constructor(message: string, exitCode = 1, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}
