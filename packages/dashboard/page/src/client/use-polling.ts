import { useContext, useLayoutEffect, useState } from "preact/hooks";
import type { Overview } from "../../../src/api.ts";
import { PageContext } from "../page-context.ts";
import type { Route } from "../route.ts";
import { givenSpanOf } from "../route.ts";
import type { DataSource } from "./data-source.ts";
import type { Failure } from "./failure.ts";
import type { PollState } from "./polling.ts";
import { Polling } from "./polling.ts";
import { recordServerTime } from "./server-clock.ts";

/**
 * Requests a view every few seconds while the tab is visible. `key` names the view and its parameters: another key is another
 * view. With `isPrivate`, nothing is cached.
 */
export function usePolling<T extends { readonly at: number }>(
  key: string,
  load: (source: DataSource, signal: AbortSignal) => Promise<T>,
  isPrivate = false,
): PollState<T> {
  const { source, session, setLive } = useContext(PageContext);
  const [state, setState] = useState<{ key: string } & PollState<T>>();
  const known = (): PollState<T> => ({
    data: isPrivate ? undefined : (cachedView(key) as T | undefined),
    failure: outage,
  });
  // Before the paint: what is known is shown in this frame.
  useLayoutEffect(() => {
    const initialState = known();
    const show = (polled: PollState<T>): void => {
      if (polled.data) recordServerTime(polled.data.at);
      if (polled.data && !isPrivate) cacheView(key, polled.data);
      setState({ key, ...polled });
      setLive({ at: polled.data?.at, failure: polled.failure, refresh: () => poll.load() });
    };
    const poll = new Polling<T>({
      load: (signal) => (takePrefetched(key) as Promise<T> | undefined) ?? load(source, signal),
      pollMs: session.pollMs,
      onChange: (polled) => {
        outage = polled.failure?.outage && polled.failure;
        show(polled);
      },
      initialState,
    });
    show(initialState);
    const watch = (): void => (document.hidden ? poll.pause() : poll.resume());
    document.addEventListener("visibilitychange", watch);
    if (document.hidden) poll.pause();
    poll.load();
    return () => {
      document.removeEventListener("visibilitychange", watch);
      poll.stop();
      setLive(undefined);
    };
  }, [key, source]);
  return state?.key === key ? state : known();
}

/** The failure of the latest request, if Redis did not answer: it concerns every view, so the next one starts with it. */
let outage: Failure | undefined;

const MAX_VIEWS = 20;

const views = new Map<string, unknown>();

/** Caches a view's last response, to be shown at once when the visitor returns to it. A new view replaces the oldest. */
export function cacheView(view: string, response: unknown): void {
  views.delete(view);
  views.set(view, response);
  const [oldest] = views.keys();
  if (views.size > MAX_VIEWS && oldest !== undefined) views.delete(oldest);
}

export function cachedView(view: string): unknown {
  return views.get(view);
}

let prefetched: { readonly key: string; readonly response: Promise<Overview> } | undefined;

/** Requests the overview before the session has loaded, if the page opens with it: a slow machine shows it sooner. */
export function prefetch(source: DataSource, route: Route): void {
  if (route.view !== "overview") return;
  const span = givenSpanOf(route);
  const response = source.overview(span, new AbortController().signal);
  // The caller of `takePrefetched` handles the failure.
  response.catch(() => {});
  prefetched = { key: `overview ${span}`, response };
}

/** Takes the prefetched response once; undefined if it is for another view. */
function takePrefetched(key: string): Promise<unknown> | undefined {
  const response = prefetched?.key === key ? prefetched.response : undefined;
  prefetched = undefined;
  return response;
}
