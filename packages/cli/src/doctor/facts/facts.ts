import type { ControlRecord, Registry, UnreadableRecord } from "@headgate/core/operate";
import type { Address, Fact } from "./fact.ts";
import type { Info } from "./info.ts";
import type { PermissionFacts } from "./permissions.ts";
import type { KeySample } from "./sample-keys.ts";
import type { ScriptWatch } from "./watch-scripts.ts";

/** The facts about a deployment, gathered once. */
export interface Facts {
  readonly prefix: string;
  /** How the servers were found: by one address, by a cluster's table, by Sentinels. */
  readonly way: "server" | "cluster" | "sentinel";
  /** Milliseconds: how long the application's limiters wait for Redis. */
  readonly storeTimeout: number;
  /** Those that decide, and their replicas. */
  readonly servers: readonly ServerFacts[];
  /** The servers that should be there, but did not answer. */
  readonly silent: readonly SilentServer[];
  readonly sentinels: readonly SentinelFacts[];
  readonly directory: Fact<Registry>;
  /** The records of usage that cannot be read. */
  readonly unreadUsage: Fact<readonly UnreadableRecord[]>;
  readonly control: Fact<ControlRecord | "damaged">;
}

export interface SilentServer {
  readonly place: string;
  /** Whether decisions are sent there. */
  readonly decides: boolean;
  readonly why: string;
}

export interface ServerFacts extends Address {
  /** Whether decisions are sent there: false for a replica that is known to be one. */
  readonly decides: boolean;
  readonly info: Fact<Info>;
  readonly config: Fact<Readonly<Record<string, string>>>;
  /** Of calls one after the other, in milliseconds, in ascending order. */
  readonly latencies: Fact<readonly number[]>;
  readonly clock: Fact<ClockReading>;
  /** Those that its log still has, the last first. */
  readonly slow: Fact<readonly SlowCommand[]>;
  readonly scripts: Fact<ScriptWatch>;
  /** Undefined for a replica. */
  readonly permissions: Fact<PermissionFacts> | undefined;
  readonly keys: Fact<KeySample> | undefined;
  /** Undefined where it is not in cluster mode. */
  readonly cluster: Fact<ClusterView> | undefined;
}

/** A server's clock beside this machine's, in milliseconds. */
export interface ClockReading {
  /** Negative where it is behind. */
  readonly ahead: number;
  /** The error of the reading: half a round trip. */
  readonly within: number;
}

export interface SlowCommand {
  /** Its name, without arguments, which may be secrets. */
  readonly command: string;
  readonly milliseconds: number;
  /** How long ago, by the server's clock. */
  readonly secondsAgo: number;
}

/** A cluster, as one of its servers sees it. */
export interface ClusterView {
  /** CLUSTER INFO. */
  readonly info: Info;
  /** First and last slot, and who has them: the primary first. */
  readonly slots: readonly SlotRange[];
}

export interface SlotRange {
  readonly first: number;
  readonly last: number;
  readonly places: readonly string[];
}

export interface SentinelFacts {
  readonly place: string;
  /** The server's words to SENTINEL CKQUORUM. */
  readonly quorum: Fact<string>;
  /** The primary that it names. */
  readonly primary: Fact<string>;
}
