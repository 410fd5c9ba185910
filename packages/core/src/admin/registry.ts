import type { BreakerRecord, LimiterRecord } from "../registry/record.ts";
import type { UnreadableRecord } from "./admin-source.ts";

/** A process that has limiters or breakers. */
export interface RegistryProcess {
  /** Random, and different in each process. */
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  /** When the process started: milliseconds since the epoch, by its own clock. */
  readonly startedAt: number;
  /** When it last reported to the registry: milliseconds since the epoch, by the server's clock, in whole seconds. */
  readonly seenAt: number;
  /** The version of Headgate that it runs. */
  readonly version: string;
  /** The random names that stand for it in the registry's keys, one for each of its Redis clients. */
  readonly names: readonly string[];
  /** How many more limiters and breakers it has than the 1,000 that are listed for a client and prefix. */
  readonly more: number;
}

/** Something that processes have. */
interface Owned {
  /** The `id` of each of these processes. */
  readonly processes: readonly string[];
  /** Whether other processes have another policy under its name. */
  readonly hasOtherVersions: boolean;
}

/** A limiter, and the processes that have it. */
export interface RegistryLimiter extends LimiterRecord, Owned {}

/** A breaker, and the processes that have it. */
export interface RegistryBreaker extends BreakerRecord, Owned {
  /**
   * The targets that processes have called, sorted: at most 200, each of 1 to 100 characters. Missing if no process reports
   * them: processes of earlier versions do not.
   */
  readonly targets?: readonly string[] | undefined;
  /** The least number of targets beyond those; missing if there are none. */
  readonly moreTargets?: number | undefined;
}

/** The limiters and breakers of one prefix, and the processes that have them. */
export interface Registry {
  /** Ordered by name. A limiter that differs between processes has an entry for each version. */
  readonly limiters: readonly RegistryLimiter[];
  readonly breakers: readonly RegistryBreaker[];
  readonly processes: readonly RegistryProcess[];
  /** The records that could not be read; if there are any, the rest may be incomplete. */
  readonly unreadable: readonly UnreadableRecord[];
}
