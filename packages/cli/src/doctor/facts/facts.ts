import type { ControlRecord, Registry, UnreadableRecord } from "@headgate/core/admin";
import type { Fact, ServerAddress } from "./fact.ts";
import type { Info } from "./info.ts";
import type { PermissionFacts } from "./permissions.ts";
import type { ScriptCacheProbe } from "./probe-script-cache.ts";
import type { KeySample } from "./sample-keys.ts";

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
  /** Whether limiters send decisions to this server. */
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

/** The state of a cluster as reported by one of its servers. */
export interface ClusterFacts {
  /** The fields of CLUSTER INFO. */
  readonly info: Info;
  /** The ranges of CLUSTER SLOTS. */
  readonly hashSlots: readonly HashSlotRange[];
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
