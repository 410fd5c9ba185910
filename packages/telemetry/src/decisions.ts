import type { PublishedDecision } from "@headgate/core";
import { CHANNELS } from "@headgate/core";
import type { ListedRequest } from "@headgate/core/http";
import type { RequestOutcome } from "./limiter-series.ts";
import { addLimiters } from "./limiter-series.ts";
import type { MetricsContext } from "./output.ts";
import type { Subscription } from "./subscription.ts";

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
