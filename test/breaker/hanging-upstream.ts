/** An upstream whose calls hang until the test ends them. */
export class HangingUpstream {
  /** How many calls reached it. */
  calls = 0;
  #ends: ((error?: Error) => void)[] = [];

  readonly call = (): Promise<string> => {
    this.calls += 1;
    return new Promise((resolve, reject) => {
      this.#ends.push((error) => (error === undefined ? resolve("fine") : reject(error)));
    });
  };

  succeed(): void {
    this.#end();
  }

  fail(): void {
    this.#end(new Error("the upstream failed"));
  }

  #end(error?: Error): void {
    for (const end of this.#ends.splice(0)) end(error);
  }
}
