import type { ControlRecord, Registry, UnreadableRecord } from "@headgate/core/admin";
import type { Fact, ServerAddress } from "./fact.ts";
import type { Info } from "./info.ts";
import type { PermissionFacts } from "./permissions.ts";
import type { ScriptCacheProbe } from "./probe-script-cache.ts";
import type { KeySample } from "./sample-keys.ts";

/** The facts about a deployment, gathered once. */
export interface Facts {
  readonly prefix: string;
  /** How the servers were found: by one address, by a cluster's table, by Sentinels. */
  readonly topology: "server" | "cluster" | "sentinel";
  /** Milliseconds: how long the application's limiters wait for Redis. */
  readonly storeTimeoutMs: number;
  /** Those that decide, and their replicas. */
  readonly servers: readonly ServerFacts[];
  /** The servers that should be there, but did not answer. */
  readonly unreachable: readonly UnreachableServer[];
  readonly sentinels: readonly SentinelFacts[];
  readonly registry: Fact<Registry>;
  /** The records of usage that cannot be read. */
  readonly unreadUsage: Fact<readonly UnreadableRecord[]>;
  readonly control: Fact<ControlRecord | "damaged">;
}

export interface UnreachableServer {
  readonly address: string;
  /** Whether decisions are sent there. */
  readonly receivesDecisions: boolean;
  readonly reason: string;
}

export interface ServerFacts extends ServerAddress {
  /** Whether decisions are sent there: false for a replica that is known to be one. */
  readonly receivesDecisions: boolean;
  readonly info: Fact<Info>;
  readonly config: Fact<Readonly<Record<string, string>>>;
  /** Of calls one after the other, in milliseconds, in ascending order. */
  readonly latenciesMs: Fact<readonly number[]>;
  readonly clock: Fact<ClockReading>;
  /** Those that its log still has, the last first. */
  readonly slowCommands: Fact<readonly SlowCommand[]>;
  readonly scriptCache: Fact<ScriptCacheProbe>;
  /** Undefined for a replica. */
  readonly permissions: Fact<PermissionFacts> | undefined;
  readonly keys: Fact<KeySample> | undefined;
  /** Undefined where it is not in cluster mode. */
  readonly cluster: Fact<ClusterFacts> | undefined;
}

/** A server's clock beside this machine's, in milliseconds. */
export interface ClockReading {
  /** Negative where it is behind. */
  readonly aheadMs: number;
  /** The error of the reading: half a round trip. */
  readonly errorMs: number;
}

export interface SlowCommand {
  /** Its name, without arguments, which may be secrets. */
  readonly command: string;
  readonly durationMs: number;
  /** How long ago, by the server's clock. */
  readonly secondsAgo: number;
}

/** A cluster, as one of its servers sees it. */
export interface ClusterFacts {
  /** CLUSTER INFO. */
  readonly info: Info;
  /** First and last slot, and who has them: the primary first. */
  readonly hashSlots: readonly HashSlotRange[];
}

export interface HashSlotRange {
  readonly first: number;
  readonly last: number;
  readonly owners: readonly string[];
}

export interface SentinelFacts {
  readonly address: string;
  /** The server's words to SENTINEL CKQUORUM. */
  readonly quorum: Fact<string>;
  /** The primary that it names. */
  readonly primary: Fact<string>;
}
