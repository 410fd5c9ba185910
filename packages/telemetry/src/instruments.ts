/** A metric, with its names in OpenTelemetry and in Prometheus. */
export interface Instrument {
  readonly name: string;
  readonly prometheus: string;
  readonly kind: "counter" | "gauge" | "histogram";
  /** The unit in the notation of OpenTelemetry; empty if there is none. */
  readonly unit: string;
  readonly help: string;
  /** How prom-client combines the values of several workers of a cluster. Default: the sum. */
  readonly aggregator?: "min" | "max" | "average";
}

export interface HistogramInstrument extends Instrument {
  /** The upper bounds of its buckets. */
  readonly boundaries: readonly number[];
}

type Histogram = "duration" | "utilization";
type Gauge =
  | "storeUp"
  | "waiting"
  | "slots"
  | "breakerState"
  | "breakerSuccessRate"
  | "shedState"
  | "shedWait";
type Counter = "decisions" | "degraded" | "breakerCalls" | "cooldowns" | "retries" | "shedRequests";

export const INSTRUMENTS: Readonly<
  Record<Histogram, HistogramInstrument> & Record<Counter | Gauge, Instrument>
> = {
  decisions: {
    name: "headgate.decisions",
    prometheus: "headgate_decisions_total",
    kind: "counter",
    unit: "{decision}",
    help: "Decisions of limiters, and requests that were on a list",
  },
  duration: {
    name: "headgate.decision.duration",
    prometheus: "headgate_decision_duration_seconds",
    kind: "histogram",
    unit: "s",
    help: "How long decisions took",
    boundaries: [0.0001, 0.0005, 0.001, 0.005, 0.025, 0.1, 0.5, 2.5],
  },
  utilization: {
    name: "headgate.utilization",
    prometheus: "headgate_utilization_ratio",
    kind: "histogram",
    unit: "1",
    help: "The share of the binding limit that was used after each decision",
    boundaries: [0.1, 0.25, 0.5, 0.75, 0.9, 1],
  },
  degraded: {
    name: "headgate.decisions.degraded",
    prometheus: "headgate_decisions_degraded_total",
    kind: "counter",
    unit: "{decision}",
    help: "Decisions that were made without the store",
  },
  storeUp: {
    name: "headgate.store.up",
    prometheus: "headgate_store_up",
    kind: "gauge",
    unit: "",
    help: "Whether a server of the store answers",
    aggregator: "min",
  },
  waiting: {
    name: "headgate.waiting",
    prometheus: "headgate_waiting",
    kind: "gauge",
    unit: "{call}",
    help: "Calls that wait for admission",
  },
  slots: {
    name: "headgate.slots",
    prometheus: "headgate_slots",
    kind: "gauge",
    unit: "{slot}",
    help: "Concurrency slots that are held",
  },
  breakerState: {
    name: "headgate.breaker.state",
    prometheus: "headgate_breaker_state",
    kind: "gauge",
    unit: "",
    help: "1 for the states that targets of a breaker are in, 0 for the others",
    aggregator: "max",
  },
  breakerCalls: {
    name: "headgate.breaker.calls",
    prometheus: "headgate_breaker_calls_total",
    kind: "counter",
    unit: "{call}",
    help: "Calls by outcome, including calls that a breaker rejected",
  },
  breakerSuccessRate: {
    name: "headgate.breaker.success_rate",
    prometheus: "headgate_breaker_success_rate_ratio",
    kind: "gauge",
    unit: "1",
    help: "The share of successes in the window of a breaker",
    aggregator: "average",
  },
  cooldowns: {
    name: "headgate.fetch.cooldowns",
    prometheus: "headgate_fetch_cooldowns_total",
    kind: "counter",
    unit: "{cooldown}",
    help: "Cooldowns of APIs that this process began or extended, by the status of the answer",
  },
  retries: {
    name: "headgate.fetch.retries",
    prometheus: "headgate_fetch_retries_total",
    kind: "counter",
    unit: "{request}",
    help: "Requests to APIs that are sent again, by the status of the answer",
  },
  shedRequests: {
    name: "headgate.shed.requests",
    prometheus: "headgate_shed_requests_total",
    kind: "counter",
    unit: "{request}",
    help: "Requests that a load shedder shed, or would have shed in a dry run",
  },
  shedState: {
    name: "headgate.shed.state",
    prometheus: "headgate_shed_state",
    kind: "gauge",
    unit: "",
    help: "1 for the state of a load shedder, 0 for the others",
    aggregator: "max",
  },
  shedWait: {
    name: "headgate.shed.wait",
    prometheus: "headgate_shed_wait_seconds",
    kind: "gauge",
    unit: "s",
    help: "The longest wait in the line of a load shedder in the last second",
    aggregator: "max",
  },
};

/** How many series a histogram has in Prometheus: its buckets, the bucket `+Inf`, sum and count. */
export function histogramSeriesCount({ boundaries }: HistogramInstrument): number {
  return boundaries.length + 3;
}
