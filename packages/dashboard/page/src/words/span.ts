import type { Span } from "../../../src/api.ts";

/** The spans of time to choose from. */
export const SPANS: readonly Span[] = ["1h", "24h", "30d"];

/** In milliseconds. */
export const LENGTHS: Readonly<Record<Span, number>> = {
  "1h": 3_600_000,
  "24h": 86_400_000,
  "30d": 30 * 86_400_000,
};

/** For a sentence: `in the last hour`. */
export const SPAN_WORDS: Readonly<Record<Span, string>> = {
  "1h": "in the last hour",
  "24h": "in the last 24 hours",
  "30d": "in the last 30 days",
};
