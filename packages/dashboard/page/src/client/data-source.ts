import type {
  Action,
  ActionPreview,
  BreakersView,
  CompletedAction,
  ControlView,
  LimiterView,
  LogView,
  Overview,
  RedisView,
  Session,
  SubjectLookup,
  SubjectView,
} from "../../../src/api.ts";
import type { Span } from "../../../src/counts.ts";

/** The source of the page's data: a server, or a recording. Each call rejects with a `Failure`, or with an `AbortError`. */
export interface DataSource {
  session(signal: AbortSignal): Promise<Session>;
  overview(span: Span, signal: AbortSignal): Promise<Overview>;
  limiter(name: string, span: Span, signal: AbortSignal): Promise<LimiterView>;
  subject(question: SubjectLookup, signal: AbortSignal): Promise<SubjectView>;
  breakers(signal: AbortSignal): Promise<BreakersView>;
  control(signal: AbortSignal): Promise<ControlView>;
  log(before: string | undefined, signal: AbortSignal): Promise<LogView>;
  redis(signal: AbortSignal): Promise<RedisView>;
  preview(action: Action, signal: AbortSignal): Promise<ActionPreview>;
  act(action: Action, reason: string, token: string, signal: AbortSignal): Promise<CompletedAction>;
}
