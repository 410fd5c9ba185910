import type { ShedReason } from "./law/admission.ts";
import type { Priority } from "./law/line.ts";
import type { LoadState } from "./law/load-monitor.ts";

/** The names under which load shedders publish on `node:diagnostics_channel`. The messages are `ShedRequest` and `LoadStatus`. */
export const SHED_CHANNELS = {
  /** A request was shed, or would have been in a dry run. */
  request: "headgate:shed:request",
  /** The load of this process: published when its state changes, and each second while it is not calm. */
  load: "headgate:shed:load",
} as const;

/** Published on `headgate:shed:request`. */
export interface ShedRequest {
  /** The load shedder's name. */
  readonly shedder: string;
  readonly priority: Priority;
  /**
   * Whose request it was; undefined without the option `subject`. One of more than 64 characters is a hash, which begins with `#`; another
   * that begins with `#` is escaped. Otherwise it is the subject that a limiter with the same key counts.
   */
  readonly subject: string | undefined;
  /**
   * `wait`: it had waited longer than `limitMs`; `heavy-subject`: likewise, and the limit was shorter because its subject
   * used over three times its fair share of handler time; `line-full`: 100,000 requests were waiting.
   */
  readonly reason: ShedReason;
  /** How long it had waited, in milliseconds, as far as this process can tell. */
  readonly waitMs: number;
  readonly limitMs: number;
  /** True if it was handled nevertheless. */
  readonly dryRun: boolean;
  /** The request, as the functions in the options get it. */
  readonly request: object;
}

/** Published on `headgate:shed:load`. */
export interface LoadStatus {
  /** The load shedder's name. */
  readonly shedder: string;
  /**
   * `calm`: in the last second, all requests were handled as they arrived; `busy`: some waited in line; `shedding`: some were
   * shed, or would have been.
   */
  readonly state: LoadState;
  /** The state of the message before. */
  readonly before: LoadState;
  /** When this state began, in milliseconds since the Unix epoch. */
  readonly since: number;
  /** How many requests are in line. */
  readonly waiting: number;
  /** The longest wait of a request that left the line in this second, in milliseconds. */
  readonly longestWaitMs: number;
  /** How long a request of the default priority may wait now: `maxWait`, or less while a queue stands. */
  readonly limitMs: number;
  /** How many requests were put in line in this second. */
  readonly deferred: number;
  /** How many requests were shed in this second, or would have been in a dry run. */
  readonly shed: number;
  readonly dryRun: boolean;
}
