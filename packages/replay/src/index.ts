/**
 * Replays access logs against limits, and recommends a limit for a log.
 *
 * @packageDocumentation
 */

export type { Log, LogEntry, LogFields, LogFile } from "./log/log-entry.ts";
export type { MalformedLine } from "./log/malformed-line.ts";
export type { LogCounts, ReadLogOptions } from "./log/read-log.ts";
export type { Algorithm } from "./recommend/algorithms.ts";
export type { RecommendOptions } from "./recommend/recommend.ts";
export { recommend } from "./recommend/recommend.ts";
export type {
  HoldoutScore,
  Proposal,
  Recommendation,
  ReplayScore,
  Score,
  WindowProposal,
} from "./recommend/recommendation.ts";
export type { Target } from "./recommend/target.ts";
export type {
  NamedPolicy,
  ReplayLimit,
  ReplayLimits,
  ReplayPolicies,
} from "./replay/policies.ts";
export { DEFAULT_LIMITS, readLimits } from "./replay/policies.ts";
export type { Framework } from "./replay/policy-run.ts";
export type { ReplayOptions } from "./replay/replay.ts";
export { FRAMEWORKS, replay } from "./replay/replay.ts";
export type {
  ClientPeaks,
  DeniedClient,
  DeniedPath,
  LimitGrant,
  PolicyDescription,
  PolicyResult,
  ReplayedLog,
  ReplayResult,
  Waits,
} from "./replay/result.ts";
export { renderReport } from "./report/render-report.ts";
