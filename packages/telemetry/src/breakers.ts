import type {
  BREAKER_CHANNELS,
  BreakerCall,
  BreakerSnapshot,
  RejectedCall,
} from "@headgate/breaker";
import type { BreakerSeries, TargetState } from "./breaker-series.ts";
import { addBreakers } from "./breaker-series.ts";
import type { MetricsContext } from "./output.ts";
import type { Subscription } from "./subscription.ts";

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
