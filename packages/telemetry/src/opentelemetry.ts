import type { Instrument } from "./instruments.ts";
import type { Labels, MetricsOutput } from "./output.ts";

interface MetricOptions {
  readonly description: string;
  readonly unit?: string;
  readonly advice?: { explicitBucketBoundaries: number[] };
}

/** Is called at each collection. */
type Callback = (result: { observe(value: number, attributes: Labels): void }) => void;

interface Observable {
  addCallback(callback: Callback): void;
  removeCallback(callback: Callback): void;
}

/** The used part of a meter from `@opentelemetry/api`. */
export interface OpenTelemetryMeter {
  createHistogram(
    name: string,
    options?: MetricOptions,
  ): { record(value: number, attributes?: Labels): void };
  createObservableCounter(name: string, options?: MetricOptions): Observable;
  createObservableGauge(name: string, options?: MetricOptions): Observable;
}

/** Writes to a meter. */
export function writeToMeter(meter: OpenTelemetryMeter): MetricsOutput {
  const removals: (() => void)[] = [];

  function createObservable(instrument: Instrument): Observable {
    const options = optionsOf(instrument);
    return instrument.kind === "counter"
      ? meter.createObservableCounter(instrument.name, options)
      : meter.createObservableGauge(instrument.name, options);
  }

  return {
    addSeries(instrument, series) {
      const observable = createObservable(instrument);
      const callback: Callback = (result) => {
        for (const { value, labels } of series) {
          if (value !== undefined) result.observe(value, labels);
        }
      };
      observable.addCallback(callback);
      removals.push(() => observable.removeCallback(callback));
    },
    addHistogram(instrument) {
      const advice = { explicitBucketBoundaries: [...instrument.boundaries] };
      const histogram = meter.createHistogram(instrument.name, {
        ...optionsOf(instrument),
        advice,
      });
      return (labels) => (value) => histogram.record(value, labels);
    },
    remove() {
      for (const remove of removals) remove();
    },
  };
}

function optionsOf({ help, unit }: Instrument): MetricOptions {
  return unit === "" ? { description: help } : { description: help, unit };
}
