import type { HistogramInstrument, Instrument } from "./instruments.ts";
import type { Labels, MetricsOutput, RecordValue, Series } from "./output.ts";

/** The used part of a registry from prom-client. */
export interface PrometheusRegistry {
  registerMetric(metric: never): void;
  removeSingleMetric(name: string): void;
}

/** One line in the output of a registry. */
interface MetricValue {
  readonly metricName?: string;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
}

/** A metric as a registry reads it: like those of prom-client, but with values that are computed at each collection. */
interface Metric {
  /** A registry removes `_total` from it for OpenMetrics. */
  name: string;
  readonly help: string;
  readonly type: string;
  readonly aggregator: string;
  get(): Promise<Omit<Metric, "get" | "reset"> & { readonly values: readonly MetricValue[] }>;
  /** Counts are never reset: a counter that goes back looks like a restart of the process. */
  reset(): void;
}

/** Writes to a registry. Throws the registry's error if one of our names is taken. */
export function writeToRegistry(registry: PrometheusRegistry): MetricsOutput {
  const names: string[] = [];

  function register(instrument: Instrument, read: () => readonly MetricValue[]): void {
    const { prometheus, help, kind, aggregator = "sum" } = instrument;
    const metric: Metric = {
      name: prometheus,
      help,
      type: kind,
      aggregator,
      async get() {
        return { name: metric.name, help, type: kind, aggregator, values: read() };
      },
      reset() {},
    };
    registry.registerMetric(metric as never);
    names.push(prometheus);
  }

  return {
    addSeries(instrument, series) {
      register(instrument, () => series.flatMap(valuesOf));
    },
    addHistogram(instrument) {
      const histograms: HistogramSeries[] = [];
      register(instrument, () => histograms.flatMap((buckets) => buckets.values));
      return (labels) => {
        const buckets = new HistogramSeries(instrument, labels);
        histograms.push(buckets);
        return buckets.observe;
      };
    },
    remove() {
      for (const name of names) registry.removeSingleMetric(name);
    },
  };
}

function valuesOf({ labels, value }: Series): readonly MetricValue[] {
  return value === undefined ? [] : [{ labels, value }];
}

/** One series of a histogram for Prometheus, where each bucket includes the ones before it. */
class HistogramSeries {
  readonly #instrument: HistogramInstrument;
  readonly #labels: Labels;
  /** The count of each bucket alone; the last one is for values above all boundaries. */
  readonly #counts: number[];
  #sum = 0;

  constructor(instrument: HistogramInstrument, labels: Labels) {
    this.#instrument = instrument;
    this.#labels = labels;
    this.#counts = [...instrument.boundaries, Number.POSITIVE_INFINITY].map(() => 0);
  }

  readonly observe: RecordValue = (value) => {
    const { boundaries } = this.#instrument;
    let at = 0;
    while (at < boundaries.length && value > (boundaries[at] as number)) at += 1;
    this.#counts[at] = (this.#counts[at] as number) + 1;
    this.#sum += value;
  };

  get values(): readonly MetricValue[] {
    const { prometheus, boundaries } = this.#instrument;
    const labels = this.#labels;
    let count = 0;
    const buckets = [...boundaries, "+Inf"].map((le, at) => {
      count += this.#counts[at] as number;
      return { metricName: `${prometheus}_bucket`, labels: { le, ...labels }, value: count };
    });
    // Without a value the limiter reports only its counters.
    if (count === 0) return [];
    return [
      ...buckets,
      { metricName: `${prometheus}_sum`, labels, value: this.#sum },
      { metricName: `${prometheus}_count`, labels, value: count },
    ];
  }
}
