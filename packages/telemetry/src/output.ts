import type { HistogramInstrument, Instrument } from "./instruments.ts";
import type { Labels, Observe, Series } from "./series.ts";

/** Where measurements go. */
export interface Output {
  /** Adds a counter or a gauge, whose series are read at each collection. */
  addSeries(instrument: Instrument, series: readonly Series[]): void;
  /** Adds a histogram; returns what makes its series. */
  addHistogram(instrument: HistogramInstrument): (labels: Labels) => Observe;
  /** Removes all of them. */
  remove(): void;
}
