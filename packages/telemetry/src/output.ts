import type { HistogramInstrument, Instrument } from "./instruments.ts";
import type { Labels, Observe, Series } from "./series.ts";

/** Where measurements go. */
export interface Output {
  /** Adds a counter or a gauge, whose series are read each time that somebody collects them. */
  addSeries(instrument: Instrument, series: readonly Series[]): void;
  /** Adds a histogram; returns what makes its series. */
  addHistogram(instrument: HistogramInstrument): (labels: Labels) => Observe;
  /** Takes all of them away again. */
  remove(): void;
}
