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

/** Takes a value into a series of a histogram. */
export type Observe = (value: number) => void;
