/**
 * Operators' actions and reads: block a subject, change a limit, list limiters and processes, read usage.
 *
 * @packageDocumentation
 */

export { isCalendarWindow } from "../algorithms/calendar.ts";
export { formatPolicy } from "../common/policy.ts";
export { checkOverride, incompatibilityOf } from "../control/apply-override.ts";
export type { ActionLog, LogEntry } from "../control/log-entry.ts";
export { overridesFor } from "../control/override-index.ts";
export type {
  ControlRecord,
  DeniedNetwork,
  Invalidation,
  LimitOverride,
  Override,
} from "../control/record.ts";
export { formatOverrideKey } from "../control/record.ts";
export { GLOBAL_SUBJECT } from "../policy/counters.ts";
export type {
  BreakerRecord,
  HttpUse,
  LimiterRecord,
  RegistryPolicy,
  RegistryShape,
  SubjectSource,
} from "../registry/record.ts";
export { hashSubject } from "../usage/top-subjects.ts";
export type { BreakerOrderState } from "./actions.ts";
export { breakerOptionsOf, previewOrder } from "./actions.ts";
export type {
  ActionOptions,
  ActionResult,
  Admin,
  BreakerAction,
  ExpiringActionOptions,
  ForgetResult,
  Inspection,
  LimiterDefinition,
  NewOverride,
  OverrideKey,
  SubjectActionOptions,
  SubjectBlock,
} from "./admin.ts";
export type { UnreadableRecord } from "./admin-source.ts";
export type { ActiveBlock, ActiveBlocks } from "./blocks.ts";
export type { AdminOptions } from "./create-admin.ts";
export { createAdmin } from "./create-admin.ts";
export type { FormatLimitOptions } from "./format.ts";
export {
  formatActor,
  formatBreakerOptions,
  formatLimit,
  formatLogValue,
  formatOverride,
  formatSubject,
} from "./format.ts";
export type { RecentUsage } from "./impact.ts";
export {
  formatBlockImpact,
  formatDenyListImpact,
  formatOverrideImpact,
  readRecentUsage,
} from "./impact.ts";
export type { IgnoredOverride, LimiterVersion, OverrideCoverage } from "./limiter-versions.ts";
export {
  dimensionsOf,
  explainVersions,
  ignoredReasonOf,
  isGlobal,
  limiterVersionsOf,
  overrideCoverageOf,
  policyVersionsOf,
  requireCompatible,
} from "./limiter-versions.ts";
export type { ReadBlocksOptions } from "./read-blocks.ts";
export { readBlocks } from "./read-blocks.ts";
export type {
  ReadRegistryOptions,
  Registry,
  RegistryBreaker,
  RegistryLimiter,
  RegistryProcess,
} from "./read-registry.ts";
export { readRegistry } from "./read-registry.ts";
export type { ReadUsageOptions } from "./read-usage.ts";
export { readUsage } from "./read-usage.ts";
export type {
  ReadUsageCoverageOptions,
  UsageCoverage,
  UsageReport,
} from "./read-usage-coverage.ts";
export { readUsageCoverage } from "./read-usage-coverage.ts";
export type { SubjectQuery } from "./resolve-subjects.ts";
export { queriedAddress, resolveSubjects, subjectSourcesOf } from "./resolve-subjects.ts";
export type {
  DenialsByLimit,
  LimitDenials,
  LimiterUsage,
  LimiterUsageSummary,
  SubjectUsage,
  TopList,
  TopSubject,
  Usage,
  UsageCounts,
  UsageSeries,
  UsageSpan,
  UsageSummary,
} from "./usage.ts";
