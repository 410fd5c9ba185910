import type { LoggedRequest } from "../log/logged-request.ts";

/** A policy at work on a log. */
export interface PolicyRun {
  /**
   * Decides requests of one moment, in their order; `subjects` has for each the subject that it counts as. For each: how many
   * milliseconds its client has to wait, 0 where it was admitted.
   */
  decide(
    subjects: readonly string[],
    requests: readonly LoggedRequest[],
  ): Promise<readonly number[]>;
  /** Subjects that memory had to forget although they counted. */
  evicted(): number;
  close(): Promise<void>;
}
