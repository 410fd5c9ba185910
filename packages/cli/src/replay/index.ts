/**
 * Replays an access log against limits, like `headgate replay`, and reports which requests each would have allowed and denied.
 * @packageDocumentation
 */

export type { CommandContext } from "../command/cli.ts";
export { CommandError } from "../command/command-error.ts";
export type { ConnectionOptions } from "../connect/connection.ts";
export type { FieldNames } from "../log/fields.ts";
export { writeReport } from "../report/write-report.ts";
export type { Framework } from "./http/frameworks.ts";
export { FRAMEWORKS, parseFramework } from "./http/frameworks.ts";
export type { NamedPolicy, ReplayLimit } from "./policies.ts";
export { DEFAULT_LIMITS, namePolicy, parseLimits } from "./policies.ts";
export type { ReplayLogsOptions } from "./replay-logs.ts";
export { replayLogs } from "./replay-logs.ts";
export type {
  ClientPeaks,
  DeniedClient,
  MalformedLine,
  PolicyResult,
  ReplayedLog,
  ReplayResult,
  Waits,
} from "./result.ts";
