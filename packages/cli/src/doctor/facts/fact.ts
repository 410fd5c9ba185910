/** A question without an answer. */
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

/** An answer of a server, or none. */
export type Fact<T> = T | Unknown;

/** How a server is reached. */
export interface Address {
  /** As messages name it. */
  readonly place: string;
  /** What redis-cli needs to reach it: words of a command line. */
  readonly cli: readonly string[];
}

/** Asks one server. */
export interface Asker extends Address {
  /** Whether decisions are sent there. */
  readonly decides: boolean;
  /** Rejects with the server's words, or where no answer comes in time. */
  ask(command: string, ...args: readonly string[]): Promise<unknown>;
}

/** Asks a question; a refusal gives `Unknown`, with the name of the command. */
export async function factOf<T>(asked: string, ask: () => Promise<T>): Promise<Fact<T>> {
  try {
    return await ask();
  } catch (error) {
    return new Unknown(asked, wordsOf(error));
  }
}

/** An error's words, in one line, without arguments that a server quotes. */
export function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.message.replace(/, with args beginning with:[\s\S]*/, "").trim() || error.name;
}
