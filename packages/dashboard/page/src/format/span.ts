import type { Span } from "../../../src/counts.ts";

/** For a sentence: `in the last hour`. */
export const SPAN_PHRASES: Readonly<Record<Span, string>> = {
  "1h": "in the last hour",
  "24h": "in the last 24 hours",
  "30d": "in the last 30 days",
};
