import type { InUseCount } from "@headgate/core";
import { CHANNELS } from "@headgate/core";
import { INSTRUMENTS } from "./instruments.ts";
import { LabelledSeries } from "./labelled-series.ts";
import type { CounterSeries, MetricsContext } from "./output.ts";
import type { Subscription } from "./subscription.ts";

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
