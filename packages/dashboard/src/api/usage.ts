/** The time that totals and lines cover. */
export type Span = "1h" | "24h" | "30d";

/** Numbers of decisions. */
export interface Counts {
  readonly allowed: number;
  readonly denied: number;
  /** How many of these were decided without Redis. */
  readonly degraded: number;
}

/** The decisions of one step of a line. Steps in which nothing was decided are left out; the others are in the order of time. */
export interface Point extends Counts {
  /** When the step began. */
  readonly at: number;
}

/** The part of the span and of the fleet that the figures cover. */
export interface Coverage {
  /** The start of the span that the figures cover; later than asked where not so much is kept. */
  readonly from: number;
  /** How many processes are listed. */
  readonly processes: number;
  /** How many of these have limiters and have not reported usage within 90 seconds; null where it is not known. */
  readonly silent: number | null;
  /** Whether the span that was asked for is kept at all. */
  readonly isKept: boolean;
}
