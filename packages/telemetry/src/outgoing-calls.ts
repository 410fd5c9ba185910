import type { CallRetry, Cooldown, FETCH_CHANNELS } from "@headgate/fetch";
import { INSTRUMENTS } from "./instruments.ts";
import { LabelledSeries } from "./labelled-series.ts";
import type { CounterSeries, MetricsContext, Subscription } from "./output.ts";

/** The channels, by name: a service that calls no API need not install that package. */
const CHANNELS = {
  cooldown: "headgate:fetch:cooldown",
  retry: "headgate:fetch:retry",
} as const satisfies typeof FETCH_CHANNELS;

/** Measures the calls to other APIs: their cooldowns, and the requests that are sent again. A host is no label: each shop may have one. */
export function measureOutgoingCalls(measures: MetricsContext): readonly Subscription[] {
  return [
    { channel: CHANNELS.cooldown, onMessage: countBy(INSTRUMENTS.cooldowns, measures) },
    { channel: CHANNELS.retry, onMessage: countBy(INSTRUMENTS.retries, measures) },
  ];
}

/** Counts messages by limiter and by the status of the API's answer. */
function countBy(
  instrument: (typeof INSTRUMENTS)["cooldowns"],
  { output, budget }: MetricsContext,
): (message: Cooldown | CallRetry) => void {
  const all: CounterSeries[] = [];
  output.addSeries(instrument, all);
  const counters = new LabelledSeries<CounterSeries>({
    names: ["limiter", "status"],
    series: 1,
    budget,
    make(labels) {
      const series = { labels, value: 0 };
      all.push(series);
      return series;
    },
  });
  return ({ limiter, status }) => {
    counters.of(limiter, String(status)).value += 1;
  };
}
