import type { LoggedRequest } from "../log/logged-request.ts";

/** A policy at work on a log. */
export interface PolicyRun {
  /**
   * Decides requests of one moment, in their order, as the subjects that they count as. For each: how many milliseconds its
   * client has to wait, 0 where it was admitted. Throws a `Failure` where that cannot be said.
   */
  decide(
    requests: readonly LoggedRequest[],
    subjects: readonly string[],
  ): Promise<readonly number[]>;
  /** Subjects that memory had to forget although they counted. */
  evicted(): number;
  close(): Promise<void>;
}
