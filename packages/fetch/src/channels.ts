import type { Subjects } from "@headgate/core";

/** The names under which calls publish on `node:diagnostics_channel`. The messages are `Cooldown` and `CallRetry`. */
export const FETCH_CHANNELS = {
  /** A provider refused a request because of a limit, so no more requests are sent for a while. */
  cooldown: "headgate:fetch:cooldown",
  /** A request will be sent again. */
  retry: "headgate:fetch:retry",
} as const;

/** Published on `headgate:fetch:cooldown`, in the process that received the answer. */
export interface Cooldown {
  /** The limiter's name. */
  readonly limiter: string;
  readonly subject: Subjects;
  /** The host and, if it is not the default one, the port of the provider. */
  readonly host: string;
  /** The status of the answer. */
  readonly status: number;
  /** How long no requests are sent, in milliseconds. */
  readonly durationMs: number;
  /** Whether the provider gave the time. Otherwise it is a backoff. */
  readonly isProvidersTime: boolean;
  /** True if only this process holds it, because the store did not take the block. */
  readonly degraded: boolean;
}

/** Published on `headgate:fetch:retry`. */
export interface CallRetry {
  /** The limiter's name. */
  readonly limiter: string;
  readonly subject: Subjects;
  readonly host: string;
  /** The status of the answer after which the request is sent again. */
  readonly status: number;
  /** How many times it has been sent. */
  readonly attempts: number;
}
