import type { RedisClient } from "@headgate/core/redis";
import type { Random } from "../../conformance/random/random.ts";
import type { Endpoint } from "../endpoint.ts";

/** The servers that a fault is injected into. */
export interface Target {
  readonly endpoint: Endpoint;
  /** The suite's own client, which no fault disturbs for long. Absent if it is unknown which writes the replica had received. */
  readonly admin?: RedisClient;
  close(): Promise<void>;
}

/** A failure of the store, as data: how to start the store, how to inject the fault, and the effects that are allowed. */
export interface Fault<T extends Target = Target> {
  /** The name of the fault's test and of its row in the table. */
  readonly name: string;
  /** A description of the fault for the table. */
  readonly title: string;
  start(): Promise<T>;
  /** Injects the fault, and returns the function that heals it. */
  inject(target: T, random: Random): Promise<() => Promise<void>>;
  /** Whether the fault exists before the clients connect. */
  readonly isBrokenAtStart?: boolean;
  /** Whether the fault is healed at once, or heals by itself. */
  readonly isBrief?: boolean;
  /**
   * The counters that the store loses: all of them, the hot subject's, or, after a failover, the writes that the replica had not
   * received. The bound on admitted units then grows by one full limit, and by another one for the counters in this process, which
   * decide while the store is down.
   */
  readonly loses: "nothing" | "everything" | "hot" | "last writes";
  /** The decisions that the store cannot make: all of them, the hot subject's (and possibly others'), or none. */
  readonly degrades: "all" | "hot" | "none";
  /** Whether Headgate logs that the store went down and came up. */
  readonly isOutage: boolean;
}
