import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { HistogramInstrument, Instrument } from "./instruments.ts";

/** Shared by all measurements. */
export interface MetricsContext {
  readonly output: MetricsOutput;
  readonly budget: SeriesBudget;
}

/** The destination of metrics. */
export interface MetricsOutput {
  /** Adds a counter or a gauge, whose series are read at each collection. */
  addSeries(instrument: Instrument, series: readonly Series[]): void;
  /** Adds a histogram; returns a function that creates its series. */
  addHistogram(instrument: HistogramInstrument): (labels: Labels) => RecordValue;
  /** Removes all counters, gauges and histograms. */
  remove(): void;
}

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

/** How many values of a label a process reports separately. */
const MAX_VALUES = 200;

/** The most series in a process. */
const MAX_SERIES = 5_000;

/** The series that are reserved for `other`. */
const RESERVED_SERIES = 150;

/** Limits the series of one process, for any number of names. */
export class SeriesBudget {
  readonly #values = new Map<string, Set<string>>();
  #left = MAX_SERIES - RESERVED_SERIES;

  /** Takes room for these label values and their series; returns whether there was room. */
  take(labels: Readonly<Record<string, string>>, series: number): boolean {
    const isKnown = Object.entries(labels).every(([label, value]) => this.#hasRoom(label, value));
    if (!isKnown || series > this.#left) return false;
    this.#left -= series;
    for (const [label, value] of Object.entries(labels)) this.#valuesOf(label).add(value);
    return true;
  }

  #hasRoom(label: string, value: string): boolean {
    const values = this.#valuesOf(label);
    return values.has(value) || values.size < MAX_VALUES;
  }

  #valuesOf(label: string): Set<string> {
    const known = this.#values.get(label) ?? new Set();
    this.#values.set(label, known);
    return known;
  }
}

/** A channel, and the function for its messages. */
export interface Subscription {
  readonly channel: string;
  onMessage(message: unknown): void;
}

/** Subscribes until the returned function is called. */
export function subscribeAll(subscriptions: readonly Subscription[]): () => void {
  for (const { channel, onMessage } of subscriptions) subscribe(channel, onMessage);
  return () => {
    for (const { channel, onMessage } of subscriptions) unsubscribe(channel, onMessage);
  };
}
