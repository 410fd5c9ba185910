/** The period that totals and series cover. */
export type Span = "15m" | "1h" | "24h" | "30d";

/** The spans to choose from. */
export const SPANS: readonly Span[] = ["15m", "1h", "24h", "30d"];

export const SPAN_MS: Readonly<Record<Span, number>> = {
  "15m": 900_000,
  "1h": 3_600_000,
  "24h": 86_400_000,
  "30d": 2_592_000_000,
};

/** Decision counts. */
export interface Counts {
  readonly allowed: number;
  readonly denied: number;
  /** The number of decisions made without Redis. */
  readonly degraded: number;
}

/** Milliseconds after which all processes have reported a step of a series, so that it is complete. */
export const REPORT_DELAY_MS = 6_000;

/** The decisions of one step of a series. Steps without decisions are left out; the others are in chronological order. */
export interface Point extends Counts {
  readonly at: number;
}

/** The part of the span and of the fleet that the figures cover. */
export interface Coverage {
  /** The start of the part that the figures cover; later than requested if less is stored. */
  readonly from: number;
  readonly processes: number;
  /** The number of these that have limiters but have not reported usage for 90 seconds. */
  readonly silentProcesses: number;
}

export const NO_DECISIONS: Counts = { allowed: 0, denied: 0, degraded: 0 };

/** The sum of several counts. */
export function sumCounts(counts: readonly Counts[]): Counts {
  return counts.reduce(addCounts, NO_DECISIONS);
}

export function addCounts(one: Counts, other: Counts): Counts {
  return {
    allowed: one.allowed + other.allowed,
    denied: one.denied + other.denied,
    degraded: one.degraded + other.degraded,
  };
}

/** `12,345`. By hand: a browser's first `Intl` format takes a slow machine a quarter of a second, before the first view. */
export function formatCount(count: number): string {
  return String(count).replace(/(?<!\..*)\B(?=(?:\d{3})+(?!\d))/g, ",");
}

/** `1 process`, `2,000 processes`. */
export function pluralize(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}
