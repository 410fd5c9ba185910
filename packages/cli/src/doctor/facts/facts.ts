import type { ControlRecord, Registry, UnreadableRecord } from "@headgate/core/admin";

/** The facts about a deployment, gathered once. */
export interface Facts {
  readonly prefix: string;
  /** How the servers were found: by one address, by the slot table of a cluster, or by Sentinels. */
  readonly topology: "server" | "cluster" | "sentinel";
  /** How long the application's limiters wait for Redis. */
  readonly storeTimeoutMs: number;
  /** The servers that receive decisions, and their replicas. */
  readonly servers: readonly ServerFacts[];
  /** The known servers that did not answer. */
  readonly unreachable: readonly UnreachableServer[];
  readonly sentinels: readonly SentinelFacts[];
  readonly registry: Fact<Registry>;
  /** The usage records that cannot be read. */
  readonly unreadUsage: Fact<readonly UnreadableRecord[]>;
  readonly control: Fact<ControlRecord | "damaged">;
}

export interface UnreachableServer {
  readonly address: string;
  readonly receivesDecisions: boolean;
  readonly reason: string;
}

export interface ServerFacts extends ServerAddress {
  /** Whether limiters send decisions to this server: false for a known replica. */
  readonly receivesDecisions: boolean;
  readonly info: Fact<Info>;
  readonly config: Fact<Readonly<Record<string, string>>>;
  /** The round-trip times of sequential calls, in ascending order. */
  readonly latenciesMs: Fact<readonly number[]>;
  readonly clock: Fact<ClockReading>;
  /** The entries of the slow log, the latest first. */
  readonly slowCommands: Fact<readonly SlowCommand[]>;
  readonly scriptCache: Fact<ScriptCacheProbe>;
  /** Undefined for a replica. */
  readonly permissions: Fact<PermissionFacts> | undefined;
  readonly keys: Fact<KeySample> | undefined;
  /** Undefined if the server is not in cluster mode. */
  readonly cluster: Fact<ClusterFacts> | undefined;
}

/** The difference between a server's clock and this machine's. */
export interface ClockReading {
  /** Negative if the server's clock is behind. */
  readonly aheadMs: number;
  /** The error of the reading: half a round trip. */
  readonly errorMs: number;
}

export interface SlowCommand {
  /** The name without the arguments, which may be secrets. */
  readonly command: string;
  readonly durationMs: number;
  /** Seconds since the command ran, by the server's clock. */
  readonly secondsAgo: number;
}

/** Whether a server keeps a script in its cache. */
export interface ScriptCacheProbe {
  readonly watchedMs: number;
  /** When the script was gone; undefined if the server kept it. */
  readonly lostAfterMs: number | undefined;
}

/** The permissions of a Redis user, compared with those that a role needs. */
export interface PermissionFacts {
  readonly role: Role;
  /** Empty if the server refuses ACL WHOAMI. */
  readonly user: string;
  readonly userExists: boolean;
  readonly deniedCommands: readonly string[];
  /** Whether the user may not access keys with the prefix. */
  readonly deniesKeys: boolean;
  /** Commands that the server does not have, because of `rename-command` or a managed service. */
  readonly unknownCommands: readonly string[];
  /** Commands whose permission could not be tested. */
  readonly untestedCommands: readonly string[];
}

/** The roles of Redis users. */
export type Role = "application" | "reader" | "operator";

const READ: readonly string[] = [
  ...["evalsha", "eval", "get", "exists", "strlen", "getrange", "time"],
  ...["hlen", "hgetall", "zcard", "zrange"],
];

const COUNT: readonly string[] = [
  ...READ,
  ...["set", "del", "setrange", "pexpire"],
  ...["hmget", "hset", "zadd", "zmscore", "zrem", "zremrangebyrank", "zremrangebyscore"],
];

/** The commands that each role needs on keys with the prefix. docs/how-to/operate.md has them as lines of ACL SETUSER. */
export const ROLES: Readonly<Record<Role, readonly string[]>> = {
  application: COUNT,
  reader: [...READ, "lrange"],
  operator: [...COUNT, "lpush", "ltrim", "lrange", "acl|whoami", "hdel"],
};

/** A sample of a server's keys. */
export interface KeySample {
  /** How many keys the server has, with any prefix. */
  readonly total: number;
  readonly scanned: number;
  /** How many of the scanned keys have the prefix. */
  readonly matched: number;
  /** Whether all keys of the server were scanned. */
  readonly isComplete: boolean;
  /** Some of the keys with the prefix. */
  readonly inspected: readonly SampledKey[];
}

export interface SampledKey {
  readonly key: string;
  /** Undefined if the key never expires. */
  readonly ttlMs: number | undefined;
  /** Undefined if the server refuses MEMORY USAGE. */
  readonly bytes: number | undefined;
}

/** The state of a cluster as reported by one of its servers. */
export interface ClusterFacts {
  /** The fields of CLUSTER INFO. */
  readonly info: Info;
  /** The ranges of CLUSTER SLOTS. */
  readonly hashSlots: readonly HashSlotRange[];
  /** Whether a script may use keys of several hash slots that it does not declare. Undefined if that could not be tested. */
  readonly allowsUndeclaredKeys: boolean | undefined;
}

export interface HashSlotRange {
  readonly first: number;
  readonly last: number;
  /** The addresses of the servers of the range, the primary first. */
  readonly owners: readonly string[];
}

export interface SentinelFacts {
  readonly address: string;
  /** The reply to SENTINEL CKQUORUM. */
  readonly quorum: Fact<string>;
  /** The address of the primary according to this Sentinel. */
  readonly primary: Fact<string>;
}

/** The address of a server. */
export interface ServerAddress {
  /** `host:port`, or the path of a unix socket. */
  readonly address: string;
  /** The arguments with which redis-cli connects to it. */
  readonly redisCliArgs: readonly string[];
}

/** An open connection to one server. */
export interface ServerConnection extends ServerAddress {
  readonly receivesDecisions: boolean;
  /** Sends a command. Rejects with the server's error, and if no reply comes in time. */
  call(command: string, ...args: readonly string[]): Promise<unknown>;
}

/** A fact, or the reason why it is unknown. */
type Fact<T> = T | UnknownFact;

/** A fact that the server did not report. */
export class UnknownFact {
  readonly command: string;
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

/** The fields of all sections of INFO. */
export type Info = Readonly<Record<string, string>>;

/** Parses the reply to INFO or CLUSTER INFO. */
export function parseInfo(text: string): Info {
  const lines = text.split(/\r?\n/).filter((line) => /^[^#:][^:]*:/.test(line));
  return Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1)]),
  );
}

/** The number in a field; undefined if the field is missing or not a number. */
export function numberOf(fields: Info, field: string): number | undefined {
  const text = fields[field];
  return text === undefined || text === "" || Number.isNaN(Number(text)) ? undefined : Number(text);
}

/** One of several numbers in a field: 3 for the part `calls` of `calls=3,usec=10`. 0 if the field is missing. */
export function partOf(fields: Info, field: string, part: string): number {
  const parts = (fields[field] ?? "").split(",").map((text) => text.split("="));
  return Number(parts.find(([name]) => name === part)?.[1] ?? 0);
}

/** The name and version of a server: `valkey 8.0.1`. */
export function serverVersionOf(info: Info): { readonly name: string; readonly version: string } {
  const name =
    info["server_name"] ??
    ["dragonfly", "keydb"].find((other) => info[`${other}_version`] !== undefined) ??
    "redis";
  return { name, version: info[`${name}_version`] ?? info["redis_version"] ?? "" };
}
