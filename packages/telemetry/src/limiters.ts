import type { InUseCount, PublishedDecision } from "@headgate/core";
import { CHANNELS } from "@headgate/core";
import type { ListedRequest } from "@headgate/core/http";
import { histogramSeriesCount, INSTRUMENTS } from "./instruments.ts";
import { LabelledSeries, OTHER } from "./labelled-series.ts";
import type { CounterSeries, Labels, MetricsContext, RecordValue, Subscription } from "./output.ts";

/** The names of the lists among the sources of decisions. */
const LIST_SOURCES = {
  allowList: "allow-list",
  denyList: "deny-list",
  operatorDenyList: "operator-deny-list",
} as const;

/** Measures decisions, each under its limiter's name, or its plugin's; with `routes`, each route has series of its own. */
export function measureDecisions(
  measures: MetricsContext,
  routes: boolean,
): readonly Subscription[] {
  const limiters = addLimiters(measures);

  function seriesOf({ limiter, plugin = limiter, route }: PublishedDecision | ListedRequest) {
    return limiters.of(plugin, routes ? route : undefined);
  }

  return [
    {
      channel: CHANNELS.decision,
      onMessage(message: PublishedDecision) {
        const { decision, durationMs } = message;
        const { limit, remaining, source, degraded, shadow } = decision;
        const series = seriesOf(message);
        series.count(outcomeOf(decision), source, shadow);
        series.duration(durationMs / 1_000);
        // If nothing was counted, no limit binds.
        if (limit > 0) series.utilization((limit - remaining) / limit);
        if (degraded) series.countDegraded(source);
      },
    },
    {
      channel: CHANNELS.listed,
      onMessage(message: ListedRequest) {
        seriesOf(message).count("listed", LIST_SOURCES[message.list], false);
      },
    },
  ];
}

/** The outcome; in shadow mode, the outcome without it. */
function outcomeOf({ wouldAllow, blocked }: PublishedDecision["decision"]): RequestOutcome {
  if (wouldAllow) return "allowed";
  return blocked ? "blocked" : "denied";
}

/** The outcome of a request. */
type RequestOutcome = "allowed" | "denied" | "blocked" | "listed";

/** The series for the decisions of one limiter, or of one of its routes. */
interface LimiterSeries {
  readonly duration: RecordValue;
  readonly utilization: RecordValue;
  count(outcome: RequestOutcome, source: string, shadow: boolean): void;
  countDegraded(source: string): void;
}

/** How many counters have room from the start: allowed, denied, and two more. */
const RESERVED_COUNTERS = 4;

const SERIES_PER_LIMITER =
  histogramSeriesCount(INSTRUMENTS.duration) +
  histogramSeriesCount(INSTRUMENTS.utilization) +
  RESERVED_COUNTERS;

/** Adds the instruments of decisions to an output. Returns the series of each limiter and route. */
function addLimiters({ output, budget }: MetricsContext): LabelledSeries<LimiterSeries> {
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
    series: SERIES_PER_LIMITER,
    budget,
    make,
  });
  return limiters;
}

/** Measures waiting calls and held slots. */
export function measureSlotUse(measures: MetricsContext): readonly Subscription[] {
  return (["waiting", "slots"] as const).map((kind) => measureOne(kind, measures));
}

function measureOne(kind: "waiting" | "slots", { output, budget }: MetricsContext): Subscription {
  const all: CounterSeries[] = [];
  output.addSeries(INSTRUMENTS[kind], all);
  const limiters = new LabelledSeries<CounterSeries>({
    names: ["limiter"],
    series: 1,
    budget,
    make(labels) {
      const series = { labels, value: 0 };
      all.push(series);
      return series;
    },
  });
  /** The counts of limiters with any; several limiters may share a series. */
  const counts = new Map<string, number>();
  return {
    channel: CHANNELS[kind],
    onMessage({ limiter, plugin = limiter, count }: InUseCount) {
      limiters.of(plugin).value += count - (counts.get(limiter) ?? 0);
      if (count > 0) counts.set(limiter, count);
      else counts.delete(limiter);
    },
  };
}
