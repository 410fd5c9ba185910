import type {
  LoadState,
  LoadStatus,
  Priority,
  SHED_CHANNELS,
  ShedReason,
  ShedRequest,
} from "@headgate/shed";
import { INSTRUMENTS } from "./instruments.ts";
import { LabelledSeries } from "./labelled-series.ts";
import type { CounterSeries, MetricsContext, Series, Subscription } from "./output.ts";

/** The channels, by name: a service without a load shedder need not install that package. */
const CHANNELS = {
  request: "headgate:shed:request",
  load: "headgate:shed:load",
} as const satisfies typeof SHED_CHANNELS;

const STATES = ["calm", "busy", "shedding"] as const satisfies readonly LoadState[];

/** Critical requests are never shed. */
const PRIORITIES = ["default", "sheddable"] as const satisfies readonly Priority[];

const REASONS = ["wait", "heavy-subject", "line-full"] as const satisfies readonly ShedReason[];

/** The series of the load shedders of one name. */
interface ShedderSeries {
  count(priority: Priority, reason: ShedReason): void;
  setLoad(state: LoadState, longestWaitMs: number): void;
}

/** Measures load shedders, from the first request that waits: a process that was always calm publishes nothing. */
export function measureShedders(measures: MetricsContext): readonly Subscription[] {
  const shedders = addShedders(measures);
  const seriesOf = ({ shedder, dryRun }: ShedRequest | LoadStatus) =>
    shedders.of(shedder, String(dryRun));
  return [
    {
      channel: CHANNELS.request,
      onMessage(message: ShedRequest) {
        seriesOf(message).count(message.priority, message.reason);
      },
    },
    {
      channel: CHANNELS.load,
      onMessage(message: LoadStatus) {
        const { state, longestWaitMs } = message;
        seriesOf(message).setLoad(state, state === "calm" ? 0 : longestWaitMs);
      },
    },
  ];
}

/** Adds the instruments of load shedders to an output. Returns the series of each name. */
function addShedders({ output, budget }: MetricsContext): LabelledSeries<ShedderSeries> {
  const requests: CounterSeries[] = [];
  const states: Series[] = [];
  const waits: Series[] = [];
  output.addSeries(INSTRUMENTS.shedRequests, requests);
  output.addSeries(INSTRUMENTS.shedState, states);
  output.addSeries(INSTRUMENTS.shedWait, waits);
  return new LabelledSeries<ShedderSeries>({
    names: ["shedder", "dry_run"],
    series: PRIORITIES.length * REASONS.length + STATES.length + 1,
    budget,
    make(labels) {
      // With zeros, so that a rate sees the first requests that are shed.
      const counters = PRIORITIES.flatMap((priority) =>
        REASONS.map((reason) => ({ labels: { ...labels, priority, reason }, value: 0 })),
      );
      const ownStates: Series[] = STATES.map((state) => ({
        labels: { ...labels, state },
        value: state === "calm" ? 1 : 0,
      }));
      const wait: Series = { labels, value: 0 };
      requests.push(...counters);
      states.push(...ownStates);
      waits.push(wait);
      return {
        count(priority, reason) {
          const counter = counters.find(
            (one) => one.labels.priority === priority && one.labels.reason === reason,
          );
          if (counter !== undefined) counter.value += 1;
        },
        setLoad(state, longestWaitMs) {
          for (const series of ownStates) series.value = series.labels["state"] === state ? 1 : 0;
          wait.value = longestWaitMs / 1_000;
        },
      };
    },
  });
}
