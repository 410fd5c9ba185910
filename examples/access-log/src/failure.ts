/** Something the user can put right: reported in one line, without a stack, and ending the program with `exitCode`. */
export class Failure extends Error {
  override readonly name: string = "Failure";
  readonly exitCode: number;

  constructor(message: string, exitCode = 1, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}
