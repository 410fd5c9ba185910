/** What a server did not say. */
export class Unknown {
  /** The command. */
  readonly asked: string;
  /** In the server's words. */
  readonly why: string;

  constructor(asked: string, why: string) {
    this.asked = asked;
    this.why = why;
  }

  /** The permission that lacks, as ACL SETUSER takes it; undefined where it is something else. */
  get grant(): string | undefined {
    if (!/NOPERM|no permissions|unknown command|ERR unknown/i.test(this.why)) return undefined;
    const [command = "", sub] = this.asked.toLowerCase().split(" ");
    return sub === undefined ? `+${command}` : `+${command}|${sub}`;
  }
}

/** What a server says, or did not. */
export type Fact<T> = T | Unknown;
