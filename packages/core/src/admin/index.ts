/**
 * Operators' actions and reads: block a subject, change a limit, list limiters and processes, read usage.
 *
 * @packageDocumentation
 */

export { isCalendarWindow } from "../algorithms/calendar.ts";
export { formatPolicy } from "../common/policy-as-code.ts";
export { checkOverride, incompatibilityOf } from "../control/check-override.ts";
export type { ActionLog, LogEntry } from "../control/log-entry.ts";
export { overridesFor } from "../control/overrides-in-force.ts";
export type {
  ControlRecord,
  DeniedNetwork,
  Order,
  Override,
  OverrideNumbers,
} from "../control/record.ts";
export { formatKey } from "../control/record.ts";
export { GLOBAL_SUBJECT } from "../policy/counters.ts";
export type {
  BreakerRecord,
  HttpUse,
  LimiterRecord,
  ListedPolicy,
  ListedShape,
  SubjectSource,
} from "../registry/registry.ts";
export type { UsageCounts, UsageSpan } from "../usage/read-records.ts";
export { hashSubject } from "../usage/top-subjects.ts";
export type { OperateOptions } from "./admin.ts";
export { operate } from "./admin.ts";
export type { UnreadRecord } from "./admin-source.ts";
export type { BlockInForce, Blocks } from "./blocks.ts";
export type { OrderedState } from "./breaker-orders.ts";
export { previewOrder } from "./breaker-orders.ts";
export type { Wording } from "./format-limit.ts";
export { breakerInWords, limitInWords } from "./format-limit.ts";
export { overrideInWords, subjectInWords, valueInWords, whoInWords } from "./format-log-entry.ts";
export type { KnownLimiter } from "./known-limiters.ts";
export { dimensionsOf, knownLimiters } from "./known-limiters.ts";
export { breakerOptionsOf } from "./listed-options.ts";
export type {
  Action,
  ActionOptions,
  BreakerAction,
  Forgotten,
  Inspection,
  NewOverride,
  OperatedLimiter,
  Operator,
  OverrideKey,
  OverrideOptions,
  SubjectActionOptions,
  SubjectBlock,
} from "./operator.ts";
export type { IgnoredOverride, OverrideCoverage } from "./override-coverage.ts";
export { overrideCoverageOf, requireFit, whyIgnored } from "./override-coverage.ts";
export type { ReadBlocksOptions } from "./read-blocks.ts";
export { readBlocks } from "./read-blocks.ts";
export type { ReadCoverageOptions, UsageCoverage, UsageReport } from "./read-coverage.ts";
export { readCoverage } from "./read-coverage.ts";
export type { ReadDirectoryOptions } from "./read-registry.ts";
export { readDirectory } from "./read-registry.ts";
export type { ReadUsageOptions } from "./read-usage.ts";
export { readUsage } from "./read-usage.ts";
export type {
  Directory,
  DirectoryBreaker,
  DirectoryLimiter,
  DirectoryProcess,
} from "./registry.ts";
export type { SubjectQuery } from "./subject-query.ts";
export { sourcesOf, subjectsOf } from "./subjects-of.ts";
export type {
  LimitDenials,
  LimiterNumbers,
  LimiterUsage,
  TopList,
  TopSubject,
  Usage,
  UsageLimits,
  UsageNumbers,
  UsageSeries,
  UsageSubjects,
} from "./usage.ts";
