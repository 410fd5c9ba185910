import type { Decision } from "@headgate/core";
import type { Trial } from "./cooldowns.ts";
import type { AnswerHead } from "./dialects/read-answer.ts";

/** An admitted attempt of a call. */
export interface Admission {
  readonly decision: Decision;
  /** When it was admitted, in milliseconds of `performance.now()`. */
  readonly at: number;
  /** Set if other calls of this process wait for its answer. */
  readonly trial: Trial | undefined;
  /** Releases its slots, once. Never rejects. */
  release(): Promise<unknown>;
}

/** An answer, and how to read its body; undefined if it cannot be read. */
export interface Answer extends AnswerHead {
  /** Whether the request was redirected: another server may have acted on it before this one refused it. */
  readonly isRedirected?: boolean | undefined;
  readonly text: (() => Promise<string | undefined>) | undefined;
}

/** An answer that refused a request. */
export interface Refusal {
  readonly status: number;
  /** How long the cooldown lasts, in milliseconds; undefined if it began none. */
  readonly cooldownMs: number | undefined;
  /** Whether the provider has not acted on the request, so that it may be sent again whatever its method. */
  readonly isUnprocessed: boolean;
  /** Whether the provider does not want the request again. */
  readonly isFinal: boolean;
}
