import calculateSlot from "cluster-key-slot";
import { shareByClient } from "../common/client-state.ts";

/** The shape of Valkey GLIDE (2; `GlideClient` and `GlideClusterClient`). */
export interface GlideLike {
  customCommand(command: string[], options: GlideOptions): Promise<unknown>;
  /** Not called: it loads a missing script by itself, and keeps it until it is released. */
  invokeScript(...script: never[]): Promise<unknown>;
}

interface GlideOptions {
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

/** A client of GLIDE for a cluster. */
export interface GlideCluster extends GlideLike {
  customCommand(
    command: string[],
    options: { readonly decoder: 0 | 1; readonly route?: Route },
  ): Promise<unknown>;
  /** Not called. Clients of one server lack it. */
  invokeScriptWithRoute(...script: never[]): Promise<unknown>;
}

type Route =
  | "randomNode"
  | { readonly type: "routeByAddress"; readonly host: string; readonly port: number };

type Address = Exclude<Route, string>;

/** In the reply of CLUSTER SLOTS: the first slot and the last, then the servers that own them, the primary first. */
type HashSlotRange = readonly [
  first: number,
  last: number,
  primary: readonly [host: string, port: number],
];

/** GLIDE's `Decoder.String`. */
const STRING = 1;

/** The digest of no script. */
const NO_SCRIPT = "0".repeat(40);

/** The least time between two requests that calls cause, in milliseconds. */
const REFRESH_MS = 1_000;

/**
 * The servers of a cluster's hash slots, so that one server that is down does not count as all of them. GLIDE does not expose
 * its own table, so this one is requested from a server, on first use and repeatedly while a server is down. Until the table is
 * known, all hash slots count as one server's.
 */
class GlideHashSlots {
  readonly #client: GlideCluster;
  #owners: readonly string[] | undefined;
  #primaries: ReadonlyMap<string, Address> = new Map();
  /** Servers with a request for the table in flight. */
  readonly #requested = new Set<string>();
  /** Primaries that replaced others, which GLIDE may not know about. */
  readonly #successors = new Set<string>();
  #refreshedAt = Number.NEGATIVE_INFINITY;

  constructor(client: GlideCluster) {
    this.#client = client;
  }

  /** The address of the primary that has a key; empty if it is not known. */
  ownerOf(key: string): string {
    if (this.#owners === undefined) {
      this.#owners = [];
      this.refresh(new Set());
    }
    const owner = this.#owners[calculateSlot(key)] ?? "";
    if (this.#successors.size > 0 && this.#successors.delete(owner)) this.#triggerMoved(key, owner);
    return owner;
  }

  /** Records that a call to the server of a key ran into GLIDE's own timeout. */
  onTimeout(key: string): void {
    this.#refreshOnce(new Set([this.ownerOf(key)]));
  }

  /** Records that a server lacked a key that is its own according to the table. */
  onMissingKey(): void {
    this.#refreshOnce(new Set());
  }

  /** Requests the table, at most once a second. */
  #refreshOnce(down: ReadonlySet<string>): void {
    const now = performance.now();
    if (now - this.#refreshedAt < REFRESH_MS) return;
    this.#refreshedAt = now;
    this.refresh(down);
  }

  /** Requests the table from a server that is not down. If that fails, the next call tries again. */
  refresh(down: ReadonlySet<string>): void {
    const known = [...this.#primaries].find(
      ([address]) => !down.has(address) && !this.#requested.has(address),
    );
    const [address, route] = known ?? (["", "randomNode"] as const);
    if (this.#requested.has(address)) return;
    this.#requested.add(address);
    const answered = (): void => void this.#requested.delete(address);
    void this.#request(route).then(answered, answered);
  }

  async #request(route: Route): Promise<void> {
    const command = ["CLUSTER", "SLOTS"];
    const reply = await this.#client.customCommand(command, { decoder: STRING, route });
    const owners: string[] = [];
    const primaries = new Map<string, Address>();
    for (const [first, last, [host, port]] of reply as readonly HashSlotRange[]) {
      const address = `${host}:${port}`;
      primaries.set(address, { type: "routeByAddress", host, port });
      for (let slot = first; slot <= last; slot += 1) owners[slot] = address;
      const before = this.#owners?.[first] ?? address;
      if (before !== address) this.#successors.add(address);
    }
    this.#owners = owners;
    this.#primaries = primaries;
  }

  /**
   * Makes GLIDE read its table again, which it does when a server answers MOVED, and otherwise once a minute: a frozen primary
   * answers nothing, even long after another one has replaced it.
   */
  #triggerMoved(key: string, owner: string): void {
    const other = [...this.#primaries].find(([address]) => address !== owner);
    if (other === undefined) return;
    const options = { decoder: STRING, route: other[1] } as const;
    void this.#client.customCommand(["EVALSHA", NO_SCRIPT, "1", key], options).catch(() => {});
  }
}

/** The table of a client, shared by all of its users: reading it takes a call. */
export const glideHashSlotsOf: (client: GlideCluster) => GlideHashSlots = shareByClient(
  "glideSlots",
  (client: GlideCluster) => new GlideHashSlots(client),
);

export function isGlideCluster(client: object): client is GlideCluster {
  const { customCommand, invokeScriptWithRoute } = client as Partial<GlideCluster>;
  return typeof customCommand === "function" && typeof invokeScriptWithRoute === "function";
}
