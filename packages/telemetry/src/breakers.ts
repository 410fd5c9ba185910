import type {
  BREAKER_CHANNELS,
  BreakerCall,
  BreakerSnapshot,
  BreakerState,
  Outcome,
  RejectedCall,
} from "@headgate/breaker";
import { INSTRUMENTS } from "./instruments.ts";
import { LabelledSeries } from "./labelled-series.ts";
import type { CounterSeries, MetricsContext, Series, Subscription } from "./output.ts";

/** The channels, by name: a service without a breaker need not install that package. */
const CHANNELS = {
  call: "headgate:breaker:call",
  rejected: "headgate:breaker:rejected",
  snapshot: "headgate:breaker:snapshot",
} as const satisfies Partial<typeof BREAKER_CHANNELS>;

/** How many targets are remembered: the ones used last. */
const MAX_TARGETS = 1_000;

interface TrackedTarget extends TargetState {
  readonly series: BreakerSeries;
}

/** Measures breakers; with `targets`, each target has series of its own. */
export function measureBreakers(
  measures: MetricsContext,
  targets: boolean,
): readonly Subscription[] {
  const breakers = addBreakers(measures);
  const known = new Map<string, TrackedTarget>();

  function seriesOf({ breaker, target }: { readonly breaker: string; readonly target: string }) {
    return breakers.of(breaker, targets ? target : undefined);
  }

  /** The first target is the least recently used one. */
  function forgetLeastRecent(): void {
    for (const [key, target] of known) {
      known.delete(key);
      target.series.replace(target, undefined);
      return;
    }
  }

  return [
    {
      channel: CHANNELS.call,
      onMessage(message: BreakerCall) {
        seriesOf(message).count(message.outcome);
      },
    },
    {
      channel: CHANNELS.rejected,
      onMessage(message: RejectedCall) {
        seriesOf(message).count("rejected");
      },
    },
    {
      channel: CHANNELS.snapshot,
      onMessage(message: BreakerSnapshot) {
        const { breaker, target, state, calls, successes } = message;
        const key = JSON.stringify([breaker, target]);
        const before = known.get(key);
        const series = before?.series ?? seriesOf(message);
        const now = { series, state, calls, successes };
        series.replace(before, now);
        known.delete(key);
        known.set(key, now);
        if (known.size > MAX_TARGETS) forgetLeastRecent();
      },
    },
  ];
}

/** The compiler checks this list against the breaker's own. */
const STATES = [
  "closed",
  "open",
  "half-open",
  "forced-open",
  "disabled",
  "metrics-only",
] as const satisfies readonly BreakerState[];

const OUTCOMES = ["success", "failure", "rejected"] as const;

/** The outcome of a call; `rejected` if the breaker did not let it through. */
type CallOutcome = Outcome | "rejected";

/** The state of one target. */
interface TargetState {
  readonly state: BreakerState;
  readonly calls: number;
  readonly successes: number;
}

/** The series of a breaker, or of one of its targets. */
interface BreakerSeries {
  count(outcome: CallOutcome): void;
  /** Replaces the last state of a target by the current one; undefined for an unknown target. */
  replace(before: TargetState | undefined, now: TargetState | undefined): void;
}

/** Adds the instruments of breakers to an output. Returns the series of each breaker and target. */
function addBreakers({ output, budget }: MetricsContext): LabelledSeries<BreakerSeries> {
  const states: CounterSeries[] = [];
  const calls: CounterSeries[] = [];
  const rates: Series[] = [];
  output.addSeries(INSTRUMENTS.breakerState, states);
  output.addSeries(INSTRUMENTS.breakerCalls, calls);
  output.addSeries(INSTRUMENTS.breakerSuccessRate, rates);
  return new LabelledSeries<BreakerSeries>({
    names: ["breaker", "target"],
    series: STATES.length + OUTCOMES.length + 1,
    budget,
    make(labels) {
      const stateSeries = STATES.map((state) => ({ labels: { ...labels, state }, value: 0 }));
      const callSeries = OUTCOMES.map((outcome) => ({ labels: { ...labels, outcome }, value: 0 }));
      const rate: Series = { labels, value: undefined };
      states.push(...stateSeries);
      calls.push(...callSeries);
      rates.push(rate);
      /** How many targets are in each state. */
      const targets = STATES.map(() => 0);
      const window = { calls: 0, successes: 0 };

      function add(target: TargetState | undefined, sign: 1 | -1): void {
        if (target === undefined) return;
        const at = STATES.indexOf(target.state);
        targets[at] = (targets[at] ?? 0) + sign;
        window.calls += sign * target.calls;
        window.successes += sign * target.successes;
      }

      return {
        count(outcome) {
          const series = callSeries[OUTCOMES.indexOf(outcome)];
          if (series !== undefined) series.value += 1;
        },
        replace(before, now) {
          add(before, -1);
          add(now, 1);
          for (const [at, series] of stateSeries.entries()) {
            series.value = (targets[at] ?? 0) > 0 ? 1 : 0;
          }
          rate.value = window.calls === 0 ? undefined : window.successes / window.calls;
        },
      };
    },
  });
}
