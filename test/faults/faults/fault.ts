import type { RedisClient } from "@headgate/core/redis";
import type { Random } from "../../conformance/random/random.ts";
import type { Place } from "../place.ts";

/** What a fault happens to. */
export interface Target {
  readonly place: Place;
  /** The suite's own client, which no fault disturbs for long. None where nobody knows which writes a replica had got. */
  readonly admin?: RedisClient;
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
  /** Whether it is healed at once, or heals itself. */
  readonly isBrief?: boolean;
  /**
   * Whose counts in the store start anew: everybody's, the hot subject's, or, where a replica took over, those whose last
   * writes it had not got. Then a policy's worth more may be admitted, and another one by the counts of this process: that
   * is the bound.
   */
  readonly forgets: "nothing" | "everything" | "hot" | "last writes";
  /** Whose decisions the store cannot take: everybody's, the hot subject's (and maybe others'), or nobody's. */
  readonly degrades: "all" | "hot" | "none";
  /** Whether the store itself goes down and comes up, which is logged. */
  readonly isOutage: boolean;
}
