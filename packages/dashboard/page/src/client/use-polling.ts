import { useContext, useLayoutEffect, useRef, useState } from "preact/hooks";
import { PageContext } from "../page-context.ts";
import type { DataSource } from "./data-source.ts";
import type { PollState } from "./polling.ts";
import { Polling } from "./polling.ts";
import { takePrefetched } from "./prefetch.ts";
import { recordServerTime } from "./server-clock.ts";
import { cachedView, cacheView } from "./view-cache.ts";

/** The data of a view. */
export interface PolledView<T> extends PollState<T> {
  /** Sends a request at once. */
  readonly refresh: () => void;
}

/**
 * Requests a view every few seconds while the tab is visible. `key` names the view and its parameters: another key is another
 * view. With `isPrivate`, nothing is cached.
 */
export function usePolling<T extends { readonly at: number }>(
  key: string,
  load: (source: DataSource, signal: AbortSignal) => Promise<T>,
  isPrivate = false,
): PolledView<T> {
  const { source, session, setLive } = useContext(PageContext);
  const [state, setState] = useState<{ key: string } & PollState<T>>();
  const polling = useRef<Polling<T> | undefined>(undefined);
  // Before the paint: a cached response is shown in this frame.
  useLayoutEffect(() => {
    const initialData = isPrivate ? undefined : (cachedView(key) as T | undefined);
    const show = (polled: PollState<T>): void => {
      if (polled.data) recordServerTime(polled.data.at);
      if (polled.data && !isPrivate) cacheView(key, polled.data);
      setState({ key, ...polled });
      setLive({ at: polled.data?.at, failure: polled.failure, refresh: () => poll.load() });
    };
    const poll = new Polling<T>({
      load: (signal) => (takePrefetched(key) as Promise<T> | undefined) ?? load(source, signal),
      pollMs: session.pollMs,
      onChange: show,
      schedule: later,
      initialData,
    });
    polling.current = poll;
    if (initialData) show({ data: initialData, failure: undefined });
    const watch = (): void => (document.hidden ? poll.pause() : poll.resume());
    document.addEventListener("visibilitychange", watch);
    if (document.hidden) poll.pause();
    poll.load();
    return () => {
      document.removeEventListener("visibilitychange", watch);
      poll.stop();
      setLive({ at: undefined, failure: undefined, refresh: () => {} });
    };
  }, [key, source]);
  const refresh = (): void => polling.current?.load();
  if (state?.key === key) return { ...state, refresh };
  return {
    data: isPrivate ? undefined : (cachedView(key) as T | undefined),
    failure: undefined,
    refresh,
  };
}

function later(run: () => void, ms: number): () => void {
  const timer = setTimeout(run, ms);
  return () => clearTimeout(timer);
}
