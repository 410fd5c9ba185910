import type {
  ActionPreview,
  BreakersView,
  ControlView,
  LimiterView,
  LogView,
  Overview,
  RedisView,
  Session,
  SubjectView,
} from "../../../src/api.ts";
import type { Span } from "../../../src/counts.ts";
import type { DataSource } from "./data-source.ts";
import { Failure } from "./failure.ts";

/** The recorded responses of a server, with which the page works without one. */
export interface Recording {
  /** When it was recorded: milliseconds since the epoch. */
  readonly at: number;
  readonly session: Session;
  readonly overview: Readonly<Record<Span, Overview>>;
  /** By name. */
  readonly limiters: Readonly<Record<string, Readonly<Record<Span, LimiterView>>>>;
  /** By the subject of a lookup. */
  readonly subjects: Readonly<Record<string, SubjectView>>;
  readonly breakers: BreakersView;
  readonly control: ControlView;
  readonly log: LogView;
  readonly redis: RedisView;
  /** By the kind of an action. */
  readonly previews: Readonly<Record<string, ActionPreview>>;
}

/** A source with the responses of a recording, shifted to the current time. Refuses every action. */
export async function recordedSource(url: string): Promise<DataSource> {
  const recording = (await (await fetch(url)).json()) as Recording;
  const now = async <T>(response: T | undefined): Promise<T> => {
    if (response === undefined) throw new Failure(404, "The recording does not have it.");
    return shiftTimes(response, Date.now() - recording.at) as T;
  };
  return {
    session: () => now(recording.session),
    overview: (span = "1h") => now(recording.overview[span]),
    limiter: (name, span) => now(recording.limiters[name]?.[span]),
    subject: ({ subject }) =>
      now(recording.subjects[subject] ?? emptySubjectView(recording, subject)),
    breakers: () => now(recording.breakers),
    control: () => now(recording.control),
    log: () => now(recording.log),
    redis: () => now(recording.redis),
    preview: ({ kind }) => now(recording.previews[kind]),
    act: async () => {
      throw new Failure(403, "This is a recording, so nothing was changed.");
    },
  };
}

function emptySubjectView({ at }: Recording, text: string): SubjectView {
  return { at, client: { kind: "text", text }, limiters: [], skipped: [], denyList: [] };
}

/**
 * A copy with every time shifted by `ms`. Any number that may be a time in this century counts as one; no other figure is that
 * large.
 */
export function shiftTimes(value: unknown, ms: number): unknown {
  if (typeof value === "number") return value > 1.5e12 && value < 4.1e12 ? value + ms : value;
  if (Array.isArray(value)) return value.map((one) => shiftTimes(one, ms));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, shiftTimes(one, ms)]),
  );
}
