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
    // A script may be allowed, and what it runs not.
    const [, refused] = /'([\w|-]+)' command/.exec(this.why) ?? [];
    return `+${refused ?? this.asked.toLowerCase().replace(" ", "|")}`;
  }
}

/** What a server says, or did not. */
export type Fact<T> = T | Unknown;
