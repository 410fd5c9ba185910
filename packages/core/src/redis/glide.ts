/** The shape of Valkey GLIDE (2; `GlideClient` and `GlideClusterClient`). */
export interface GlideLike {
  customCommand(command: string[], options: GlideOptions): Promise<unknown>;
  /** Not called: it loads a missing script by itself, and keeps it until it is released. */
  invokeScript(...script: never[]): Promise<unknown>;
}

export interface GlideOptions {
  /** GLIDE's `Decoder.Bytes` or `Decoder.String`. */
  readonly decoder: 0 | 1;
}

/** Strings in a reply become Buffers. */
const BYTES: GlideOptions = { decoder: 0 };

/**
 * Sends a command, whose keys determine the server of a cluster. Rejects with the server's own error. `onTimeout` is called if
 * GLIDE itself stops waiting for the answer.
 */
export function callGlide(
  client: GlideLike,
  command: string[],
  onTimeout?: () => void,
): Promise<unknown> {
  return client.customCommand(command, BYTES).catch((error: unknown) => {
    if (error instanceof Error && error.message === "timed out") onTimeout?.();
    throw toServerError(error);
  });
}

/** Servers' errors that GLIDE renames. Others keep their code. */
const ERROR_CODES: Readonly<Record<string, string>> = {
  ResponseError: "ERR",
  NoScriptError: "NOSCRIPT",
  ReadOnly: "READONLY",
  BusyLoadingError: "LOADING",
  MasterDown: "MASTERDOWN",
  PermissionDenied: "NOPERM",
  TryAgain: "TRYAGAIN",
  ClusterDown: "CLUSTERDOWN",
  CrossSlot: "CROSSSLOT",
  Moved: "MOVED",
  Ask: "ASK",
};

/** `An error was signalled by the server: - NoScriptError: No matching script.`, or `OOM: command not allowed ...`. */
const SERVER_ERROR = /^(?:An error was signalled by the server: - (\w+)|([A-Z]+)): (.*)/s;

function toServerError(error: unknown): unknown {
  const [, name = "", code = ERROR_CODES[name], words] =
    error instanceof Error ? (SERVER_ERROR.exec(error.message) ?? []) : [];
  return code === undefined ? error : new Error(`${code} ${words}`, { cause: error });
}
