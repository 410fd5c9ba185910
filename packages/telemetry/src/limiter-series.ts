import { histogramSeriesCount, INSTRUMENTS } from "./instruments.ts";
import { LabelledSeries, OTHER } from "./labelled-series.ts";
import type { CounterSeries, Labels, MetricsContext, RecordValue } from "./output.ts";

/** The outcome of a request. */
export type RequestOutcome = "allowed" | "denied" | "blocked" | "listed";

/** The series for the decisions of one limiter, or of one of its routes. */
export interface LimiterSeries {
  readonly duration: RecordValue;
  readonly utilization: RecordValue;
  count(outcome: RequestOutcome, source: string, shadow: boolean): void;
  countDegraded(source: string): void;
}

/** How many counters have room from the start: allowed, denied, and two more. */
const RESERVED_COUNTERS = 4;

const SERIES =
  histogramSeriesCount(INSTRUMENTS.duration) +
  histogramSeriesCount(INSTRUMENTS.utilization) +
  RESERVED_COUNTERS;

/** Adds the instruments of decisions to an output. Returns the series of each limiter and route. */
export function addLimiters({ output, budget }: MetricsContext): LabelledSeries<LimiterSeries> {
  const decisions: CounterSeries[] = [];
  const degraded: CounterSeries[] = [];
  output.addSeries(INSTRUMENTS.decisions, decisions);
  output.addSeries(INSTRUMENTS.degraded, degraded);
  const makeDuration = output.addHistogram(INSTRUMENTS.duration);
  const makeUtilization = output.addHistogram(INSTRUMENTS.utilization);

  function make(labels: Labels): LimiterSeries {
    const counters = new Map<string, CounterSeries>();

    /** Undefined if there is no room for one more counter. */
    function addCounter(
      key: string,
      all: CounterSeries[],
      more: Labels,
    ): CounterSeries | undefined {
      const hasRoom = counters.size < RESERVED_COUNTERS || labels["limiter"] === OTHER;
      if (!hasRoom && !budget.take({}, 1)) return undefined;
      const counter = { labels: { ...labels, ...more }, value: 0 };
      counters.set(key, counter);
      all.push(counter);
      return counter;
    }

    return {
      duration: makeDuration(labels),
      utilization: makeUtilization(labels),
      count(outcome, source, shadow) {
        const key = `${outcome} ${source} ${shadow}`;
        const counter =
          counters.get(key) ??
          addCounter(key, decisions, { outcome, source, shadow: String(shadow) });
        if (counter === undefined) limiters.of(OTHER).count(outcome, source, shadow);
        else counter.value += 1;
      },
      countDegraded(source) {
        const counter = counters.get(source) ?? addCounter(source, degraded, { source });
        if (counter === undefined) limiters.of(OTHER).countDegraded(source);
        else counter.value += 1;
      },
    };
  }

  const limiters: LabelledSeries<LimiterSeries> = new LabelledSeries({
    names: ["limiter", "route"],
    series: SERIES,
    budget,
    make,
  });
  return limiters;
}
