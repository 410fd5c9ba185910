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
import { Failure, parseFailure } from "./failure.ts";

/** The source of the page's data: a server, or a recording. Each call rejects with a `Failure`, or with an `AbortError`. */
export interface DataSource {
  session(signal: AbortSignal): Promise<Session>;
  overview(span: Span | undefined, signal: AbortSignal): Promise<Overview>;
  limiter(name: string, span: Span, signal: AbortSignal): Promise<LimiterView>;
  subject(question: SubjectLookup, signal: AbortSignal): Promise<SubjectView>;
  breakers(signal: AbortSignal): Promise<BreakersView>;
  control(signal: AbortSignal): Promise<ControlView>;
  log(before: string | undefined, signal: AbortSignal): Promise<LogView>;
  redis(signal: AbortSignal): Promise<RedisView>;
  preview(action: Action, signal: AbortSignal): Promise<ActionPreview>;
  act(action: Action, reason: string, token: string, signal: AbortSignal): Promise<CompletedAction>;
}

const TIMEOUT_MS = 15_000;

/** Requests data from the server at `base`, a folder relative to the page. */
export function httpSource(base: string): DataSource {
  const get = <T>(path: string, signal: AbortSignal, query: Record<string, string> = {}) => {
    const search = new URLSearchParams(query).toString();
    return fetchJson<T>(`${base}${path}${search === "" ? "" : `?${search}`}`, { signal });
  };
  const post = <T>(path: string, body: unknown, signal: AbortSignal): Promise<T> =>
    fetchJson<T>(`${base}${path}`, {
      signal,
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  return {
    session: (signal) => get("session", signal),
    overview: (span, signal) => get("overview", signal, span === undefined ? {} : { span }),
    limiter: (name, span, signal) => get("limiter", signal, { name, span }),
    subject: (lookup, signal) => post("subject", lookup, signal),
    breakers: (signal) => get("breakers", signal),
    control: (signal) => get("control", signal),
    log: (before, signal) => get("log", signal, before === undefined ? {} : { before }),
    redis: (signal) => get("redis", signal),
    preview: (action, signal) => post("preview", { action }, signal),
    act: (action, reason, token, signal) => post("act", { action, reason, token }, signal),
  };
}

async function fetchJson<T>(
  url: string,
  options: RequestInit & { signal: AbortSignal },
): Promise<T> {
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  try {
    const response = await fetch(url, {
      ...options,
      signal: AbortSignal.any([options.signal, timeout]),
      credentials: "same-origin",
      cache: "no-store",
    });
    const body: unknown = await response.json().catch(() => undefined);
    if (!response.ok)
      throw parseFailure(response.status, body, response.headers.get("retry-after"));
    // A proxy may have responded with its sign-in page.
    if (body === undefined) throw new Failure(response.redirected ? 401 : undefined, "");
    return body as T;
  } catch (error) {
    if (error instanceof Failure || options.signal.aborted) throw error;
    throw new Failure(undefined, "");
  }
}
