/**
 * Operators' actions and reads: block a subject, change a limit, list limiters and processes, read usage.
 *
 * @packageDocumentation
 */

export { isCalendarWindow } from "../algorithms/calendar.ts";
export { formatPolicy } from "../common/policy-as-code.ts";
export { checkOverride, misfitOf } from "../fleet/control/check-override.ts";
export type { ActionLog, LogEntry } from "../fleet/control/log-entry.ts";
export { overridesFor } from "../fleet/control/overrides-in-force.ts";
export type {
  ControlRecord,
  DeniedNetwork,
  Order,
  Override,
  OverrideNumbers,
} from "../fleet/control/record.ts";
export { formatPlace } from "../fleet/control/record.ts";
export type {
  BreakerRecord,
  HttpUse,
  LimiterRecord,
  ListedPolicy,
  ListedShape,
  SubjectSource,
} from "../fleet/directory/directory.ts";
export type { UsageCounts, UsageSpan } from "../fleet/usage/read-records.ts";
export { hashSubject } from "../fleet/usage/top-subjects.ts";
export { EVERYBODY } from "../policy/counters.ts";
export type { BlockInForce, Blocks } from "./blocks.ts";
export type { OrderedState } from "./breaker-orders.ts";
export { foreseeOrder } from "./breaker-orders.ts";
export type {
  Directory,
  DirectoryBreaker,
  DirectoryLimiter,
  DirectoryProcess,
} from "./directory.ts";
export { overrideInWords, subjectInWords, valueInWords, whoInWords } from "./entry-in-words.ts";
export type { Wording } from "./in-words.ts";
export { breakerInWords, limitInWords } from "./in-words.ts";
export type { KnownLimiter } from "./known-limiters.ts";
export { dimensionsOf, knownLimiters } from "./known-limiters.ts";
export { breakerOptionsOf } from "./listed-options.ts";
export type { OperateOptions } from "./operate.ts";
export { operate } from "./operate.ts";
export type { UnreadRecord } from "./operated-source.ts";
export type {
  Action,
  ActionOptions,
  BreakerAction,
  Forgotten,
  Inspection,
  NewOverride,
  OperatedLimiter,
  Operator,
  OverrideOptions,
  OverridePlace,
  SubjectActionOptions,
  SubjectBlock,
} from "./operator.ts";
export type { IgnoredOverride, OverrideReach } from "./override-reach.ts";
export { reachOf, requireFit, whyIgnored } from "./override-reach.ts";
export type { ReadBlocksOptions } from "./read-blocks.ts";
export { readBlocks } from "./read-blocks.ts";
export type { ReadCoverageOptions, UsageCoverage, UsageReport } from "./read-coverage.ts";
export { readCoverage } from "./read-coverage.ts";
export type { ReadDirectoryOptions } from "./read-directory.ts";
export { readDirectory } from "./read-directory.ts";
export type { ReadUsageOptions } from "./read-usage.ts";
export { readUsage } from "./read-usage.ts";
export type { SoughtClient } from "./subject-source.ts";
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
