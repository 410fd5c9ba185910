import type { HistogramInstrument, Instrument } from "./instruments.ts";
import type { SeriesBudget } from "./series-budget.ts";

/** The values of labels, by their names. */
export type Labels = Readonly<Record<string, string>>;

/** One series of a counter or a gauge. */
export interface Series {
  readonly labels: Labels;
  /** Undefined while there is nothing to report. */
  value: number | undefined;
}

/** One series of a counter. */
export interface CounterSeries extends Series {
  value: number;
}

/** Records a value in a series of a histogram. */
export type RecordValue = (value: number) => void;

/** The destination of metrics. */
export interface MetricsOutput {
  /** Adds a counter or a gauge, whose series are read at each collection. */
  addSeries(instrument: Instrument, series: readonly Series[]): void;
  /** Adds a histogram; returns a function that creates its series. */
  addHistogram(instrument: HistogramInstrument): (labels: Labels) => RecordValue;
  /** Removes all counters, gauges and histograms. */
  remove(): void;
}

/** Shared by all measurements. */
export interface MetricsContext {
  readonly output: MetricsOutput;
  readonly budget: SeriesBudget;
}
