import type { PublishedDecision } from "@headgate/core";
import { CHANNELS } from "@headgate/core";
import type { ListedRequest } from "@headgate/core/http";
import type { Outcome } from "./limiter-series.ts";
import { addLimiters } from "./limiter-series.ts";
import type { Measures } from "./output.ts";
import type { Subscription } from "./subscription.ts";

/** The names of the lists among the sources of decisions. */
const SOURCES = {
  allowList: "allow-list",
  blockList: "block-list",
  denyList: "deny-list",
} as const;

/** Measures decisions, each under its limiter's name, or its plugin's; `routes` tells their routes apart. */
export function measureDecisions(measures: Measures, routes: boolean): readonly Subscription[] {
  const limiters = addLimiters(measures);

  function seriesOf({ limiter, plugin = limiter, route }: PublishedDecision | ListedRequest) {
    return limiters.of(plugin, routes ? route : undefined);
  }

  return [
    {
      channel: CHANNELS.decision,
      hear(message: PublishedDecision) {
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
      hear(message: ListedRequest) {
        seriesOf(message).count("listed", SOURCES[message.list], false);
      },
    },
  ];
}

/** The outcome; in shadow mode, the one without it. */
function outcomeOf({ wouldAllow, blocked }: PublishedDecision["decision"]): Outcome {
  if (wouldAllow) return "allowed";
  return blocked ? "blocked" : "denied";
}
