/**
 * Operators' actions and reads: block a subject, change a limit, list limiters and processes, read usage.
 *
 * @packageDocumentation
 */

export { isCalendarWindow } from "../algorithms/calendar.ts";
export { formatPolicy } from "../common/policy.ts";
export { checkOverride, incompatibilityOf } from "../control/check-override.ts";
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
export type { UsageCounts, UsageSpan } from "../usage/parse-records.ts";
export { hashSubject } from "../usage/top-subjects.ts";
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
export { breakerOptionsOf } from "./breaker-options.ts";
export type { BreakerOrderState } from "./breaker-orders.ts";
export { previewOrder } from "./breaker-orders.ts";
export type { AdminOptions } from "./create-admin.ts";
export { createAdmin } from "./create-admin.ts";
export type { FormatLimitOptions } from "./format-limit.ts";
export { formatBreakerOptions, formatLimit } from "./format-limit.ts";
export { formatActor, formatLogValue, formatOverride, formatSubject } from "./format-log-entry.ts";
export type { LimiterVersion } from "./limiter-versions.ts";
export { dimensionsOf, limiterVersionsOf } from "./limiter-versions.ts";
export type { IgnoredOverride, OverrideCoverage } from "./override-coverage.ts";
export { ignoredReasonOf, overrideCoverageOf, requireCompatible } from "./override-coverage.ts";
export type { ReadBlocksOptions } from "./read-blocks.ts";
export { readBlocks } from "./read-blocks.ts";
export type { ReadRegistryOptions } from "./read-registry.ts";
export { readRegistry } from "./read-registry.ts";
export type { ReadUsageOptions } from "./read-usage.ts";
export { readUsage } from "./read-usage.ts";
export type {
  ReadUsageCoverageOptions,
  UsageCoverage,
  UsageReport,
} from "./read-usage-coverage.ts";
export { readUsageCoverage } from "./read-usage-coverage.ts";
export type {
  Registry,
  RegistryBreaker,
  RegistryLimiter,
  RegistryProcess,
} from "./registry.ts";
export { resolveSubjects, subjectSourcesOf } from "./resolve-subjects.ts";
export type { SubjectQuery } from "./subject-query.ts";
export type {
  DenialsByLimit,
  LimitDenials,
  LimiterUsage,
  LimiterUsageSummary,
  SubjectUsage,
  TopList,
  TopSubject,
  Usage,
  UsageSeries,
  UsageSummary,
} from "./usage.ts";
