import type { RedisClient } from "@headgate/core/redis";
import type { Random } from "../../conformance/random.ts";
import type { Place } from "../place.ts";

/** What a fault happens to. */
export interface Target {
  readonly place: Place;
  /** The suite's own client, which no fault disturbs for long. */
  readonly admin: RedisClient;
  close(): Promise<void>;
}

/** Something that goes wrong with a store, as data: how the store is started, what happens to it, and what may come of it. */
export interface Fault<T extends Target = Target> {
  /** The name of its test and its row. */
  readonly name: string;
  /** What is done, for those who read the table. */
  readonly title: string;
  start(): Promise<T>;
  /** Breaks it, and returns how it is healed. */
  breakIt(target: T, random: Random): Promise<() => Promise<void>>;
  /** Whether it is broken before anybody connects. */
  readonly isBrokenAtStart?: boolean;
  /**
   * How often the counts in the store may start anew. Each time, and once for the counts of this process, a policy's worth
   * may be admitted: that is the bound.
   */
  readonly losses: number;
  /** Whose decisions the store cannot take: those of all subjects, of the hot one, or nobody's. */
  readonly degrades: "all" | "hot" | "none";
  /** Whether the store itself goes down and comes up, which is told. */
  readonly isOutage: boolean;
}
