/**
 * The JSON responses of `api/`, which the server writes and the page reads. Times are milliseconds since the epoch by the clock
 * of Redis. Text from Redis may contain anything, and is never markup.
 */

export type { LimitOverride } from "@headgate/core/admin";
export type { Action, ActionPreview, ApiError, CompletedAction } from "./api/actions.ts";
export type { BreakersView, TargetRow } from "./api/breakers.ts";
export type { ControlView, LogView } from "./api/control.ts";
export type { LimiterSummary, Overview, ProcessSummary, SubjectByDimension } from "./api/fleet.ts";
export type { DenialCount, LimiterView, PolicyView, TopSubjectRow } from "./api/limiter.ts";
export type { Finding, RedisView } from "./api/redis.ts";
export type { BlockRow, DenyListRow, LogRow, OverrideRow } from "./api/rows.ts";
export type { ActionName, Session } from "./api/session.ts";
export type {
  LimitRow,
  LookupClient,
  SubjectLookup,
  SubjectStatus,
  SubjectView,
} from "./api/subject.ts";
export type { Counts, Coverage, Point, Span } from "./api/usage.ts";
