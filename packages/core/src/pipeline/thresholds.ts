import { channel } from "node:diagnostics_channel";
import type { CompiledLimit } from "../algorithms/algorithm.ts";
import { windowMsAt } from "../algorithms/calendar.ts";
import type { LimitDescription } from "../common/policy.ts";
import type { LimiterLabels } from "../common/publish.ts";
import { CHANNELS, publish } from "../common/publish.ts";
import { toMilliseconds } from "../common/time.ts";
import type { ThresholdReport } from "../operations/notify-thresholds.ts";
import type { CompiledPolicy } from "../policy/compiled-policy.ts";
import type { SubjectCounter } from "../policy/counters.ts";
import { isShadowDecision } from "../policy/counters.ts";

/** Published on `headgate:threshold`: a subject has used a share of a limit that is in the limit's `notifyAt`. */
export interface ThresholdReached extends LimiterLabels, LimitDescription {
  /** The subject that reached the threshold, by dimension, as the limiter's `reset` takes it. */
  readonly subject: Readonly<Record<string, string>>;
  /** The share of the limit, as configured in `notifyAt`. */
  readonly threshold: number;
  /** Used units, including those of the request that reached the threshold. */
  readonly used: number;
  /** Milliseconds until the limit recovers fully if nothing more is charged, rounded up. */
  readonly resetAfterMs: number;
  /** Whether the limiter is in shadow mode, and so denies no request. */
  readonly shadow: boolean;
}

const thresholds = channel(CHANNELS.threshold);

/** Publishes reports on thresholds: one message for each threshold, the lowest of a limit first. */
export function publishThresholds(
  policy: CompiledPolicy,
  reports: readonly ThresholdReport[],
): void {
  if (reports.length === 0 || !thresholds.hasSubscribers) return;
  for (const report of reports) if (report.reached > 0) publishReport(policy, report);
}

function publishReport(
  policy: CompiledPolicy,
  { counter: one, limit: i, reached, remaining, resetAfter }: ThresholdReport,
): void {
  const counter = one as SubjectCounter;
  const { group, subject } = counter;
  const limit = counter.limits[i] as CompiledLimit;
  const { name, per, calendar, notify } = limit;
  const { shares = [], units = [] } = notify ?? {};
  const used = limit.limit - remaining;
  const count = units.filter((each) => each <= used).length;
  const { limiter, plugin } = policy.labels;
  const message = {
    limiter: group.limiter,
    // The plugin of an extended limiter is not known here.
    plugin: group.limiter === limiter ? plugin : undefined,
    subject: { [group.dimension]: subject },
    name,
    per,
    limit: limit.limit,
    windowMs: calendar === undefined ? limit.windowMs : windowMsAt(limit, policy.store.now()),
    used,
    resetAfterMs: toMilliseconds(resetAfter),
    shadow: isShadowDecision(policy, [counter]),
  };
  for (const threshold of shares.slice(count - reached, count)) {
    publish(thresholds, { ...message, threshold } satisfies ThresholdReached);
  }
}
