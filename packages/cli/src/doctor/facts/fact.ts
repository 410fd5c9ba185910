/** A question without an answer. */
export class UnknownFact {
  /** The command. */
  readonly asked: string;
  /** In the server's words. */
  readonly error: string;

  constructor(asked: string, why: string) {
    this.asked = asked;
    this.error = why;
  }

  /** The permission that lacks, as ACL SETUSER takes it; undefined where it is something else. */
  get missingPermission(): string | undefined {
    if (!/NOPERM|no permissions|unknown command|ERR unknown/i.test(this.error)) return undefined;
    // A script may be allowed, and what it runs not.
    const [, refused] = /'([\w|-]+)' command/.exec(this.error) ?? [];
    return `+${refused ?? this.asked.toLowerCase().replace(" ", "|")}`;
  }
}

/** An answer of a server, or none. */
export type Fact<T> = T | UnknownFact;

/** How a server is reached. */
export interface ServerAddress {
  /** As messages name it. */
  readonly address: string;
  /** What redis-cli needs to reach it: words of a command line. */
  readonly redisCliArgs: readonly string[];
}

/** Asks one server. */
export interface ServerConnection extends ServerAddress {
  /** Whether decisions are sent there. */
  readonly receivesDecisions: boolean;
  /** Rejects with the server's words, or where no answer comes in time. */
  call(command: string, ...args: readonly string[]): Promise<unknown>;
}

/** Asks a question; a refusal gives `Unknown`, with the name of the command. */
export async function readFact<T>(command: string, read: () => Promise<T>): Promise<Fact<T>> {
  try {
    return await read();
  } catch (error) {
    return new UnknownFact(command, redactedMessage(error));
  }
}

/** An error's words, in one line, without arguments that a server quotes. */
export function redactedMessage(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.message.replace(/, with args beginning with:[\s\S]*/, "").trim() || error.name;
}
