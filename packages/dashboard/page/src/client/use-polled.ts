import { useContext, useLayoutEffect, useRef, useState } from "preact/hooks";
import { PageContext } from "../visit.ts";
import { takeAhead } from "./ahead.ts";
import { keep, kept } from "./kept.ts";
import type { Polled } from "./polling.ts";
import { Polling } from "./polling.ts";
import { noteServerTime } from "./server-clock.ts";
import type { Source } from "./source.ts";

/** The data of a view. */
export interface Live<T> extends Polled<T> {
  /** Sends a request at once. */
  readonly refresh: () => void;
}

/**
 * Requests a view every few seconds while the tab is visible. `key` names the view and its parameters: another key is another
 * view. With `isPrivate`, nothing is cached.
 */
export function usePolled<T extends { readonly at: number }>(
  key: string,
  ask: (source: Source, signal: AbortSignal) => Promise<T>,
  isPrivate = false,
): Live<T> {
  const { source, session, setLive } = useContext(PageContext);
  const [state, setState] = useState<{ key: string } & Polled<T>>();
  const polling = useRef<Polling<T> | undefined>(undefined);
  // Before the paint: the answer may be there, and is shown in this frame then.
  useLayoutEffect(() => {
    const first = isPrivate ? undefined : (kept(key) as T | undefined);
    const show = (polled: Polled<T>): void => {
      if (polled.data) noteServerTime(polled.data.at);
      if (polled.data && !isPrivate) keep(key, polled.data);
      setState({ key, ...polled });
      setLive({ at: polled.data?.at, failure: polled.failure, refresh: () => poll.load() });
    };
    const poll = new Polling<T>({
      load: (signal) => (takeAhead(key) as Promise<T> | undefined) ?? ask(source, signal),
      pollMs: session.pollMs,
      onChange: show,
      schedule: later,
      first,
    });
    polling.current = poll;
    if (first) show({ data: first, failure: undefined });
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
    data: isPrivate ? undefined : (kept(key) as T | undefined),
    failure: undefined,
    refresh,
  };
}

function later(run: () => void, ms: number): () => void {
  const timer = setTimeout(run, ms);
  return () => clearTimeout(timer);
}
