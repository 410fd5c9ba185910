/** A fact that the server did not report. */
export class UnknownFact {
  /** The failed Redis command. */
  readonly command: string;
  /** The server's error message. */
  readonly error: string;

  constructor(command: string, error: string) {
    this.command = command;
    this.error = error;
  }

  /** The missing permission in the syntax of ACL SETUSER; undefined if the error has another cause. */
  get missingPermission(): string | undefined {
    if (!/NOPERM|no permissions|unknown command|ERR unknown/i.test(this.error)) return undefined;
    // EVALSHA may be permitted while a command inside the script is not.
    const [, refused] = /'([\w|-]+)' command/.exec(this.error) ?? [];
    return `+${refused ?? this.command.toLowerCase().replace(" ", "|")}`;
  }
}

/** A fact, or the reason why it is unknown. */
export type Fact<T> = T | UnknownFact;

/** The address of a server. */
export interface ServerAddress {
  /** `host:port`, or the path of a unix socket. */
  readonly address: string;
  /** The arguments with which redis-cli connects to it. */
  readonly redisCliArgs: readonly string[];
}

/** An open connection to one server. */
export interface ServerConnection extends ServerAddress {
  /** Whether limiters send decisions to this server. */
  readonly receivesDecisions: boolean;
  /** Sends a command. Rejects with the server's error, and if no reply comes in time. */
  call(command: string, ...args: readonly string[]): Promise<unknown>;
}

/** Reads a fact. If `read` rejects, returns an `UnknownFact` with the name of the command. */
export async function readFact<T>(command: string, read: () => Promise<T>): Promise<Fact<T>> {
  try {
    return await read();
  } catch (error) {
    return new UnknownFact(command, redactedMessage(error));
  }
}

/** The message of an error without the command's arguments, which some servers quote. */
export function redactedMessage(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.message.replace(/, with args beginning with:[\s\S]*/, "").trim() || error.name;
}
