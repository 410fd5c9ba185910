import type { JSX } from "preact";
import { useLayoutEffect, useMemo, useState } from "preact/hooks";
import type { Session } from "../../src/api.ts";
import { ActionDialog } from "./actions/dialog.tsx";
import type { Failure } from "./client/failure.ts";
import { asFailure, failureInWords, isFinal } from "./client/failure.ts";
import { pauseAfter } from "./client/polling.ts";
import type { Source } from "./client/source.ts";
import { Shell } from "./shell.tsx";
import { useRoute } from "./use-route.ts";
import { ViewOf } from "./views/view-of.tsx";
import type { Draft, LiveState, PageState } from "./visit.ts";
import { PageContext } from "./visit.ts";

const NOT_YET: LiveState = { at: undefined, failure: undefined, refresh: () => {} };

/** The whole page. */
export function App({ source }: { source: Source }): JSX.Element {
  const [session, failure] = useSession(source);
  if (session) return <Ready source={source} session={session} />;
  return (
    <main class="before">
      {failure ? (
        <div class="notice bad" role="alert">
          <strong>{failureInWords(failure)}</strong>
          {!isFinal(failure) && " The page asks again by itself."}
        </div>
      ) : (
        <p class="quiet">Loading…</p>
      )}
    </main>
  );
}

/** Requests the visitor's session until there is an answer. */
function useSession(source: Source): readonly [Session | undefined, Failure | undefined] {
  const [session, setSession] = useState<Session>();
  const [failure, setFailure] = useState<Failure>();
  // Before the first paint: on a slow machine, each frame of these steps would delay the figures.
  useLayoutEffect(() => {
    const leaving = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const ask = async (failed: number): Promise<void> => {
      try {
        setSession(await source.session(leaving.signal));
      } catch (error) {
        if (leaving.signal.aborted) return;
        setFailure(asFailure(error));
        const next = failed + 1;
        if (!isFinal(asFailure(error))) timer = setTimeout(ask, pauseAfter(next, 5_000), next);
      }
    };
    void ask(0);
    return () => {
      leaving.abort();
      clearTimeout(timer);
    };
  }, [source]);
  return [session, failure];
}

function Ready({ source, session }: { source: Source; session: Session }): JSX.Element {
  const route = useRoute();
  const [draft, open] = useState<Draft>();
  const [live, setLive] = useState<LiveState>(NOT_YET);
  const visit = useMemo<PageState>(
    () => ({ source, session, open, setLive, may: (kind) => session.actions.includes(kind) }),
    [source, session],
  );
  const close = (done: boolean): void => {
    open(undefined);
    if (done) live.refresh();
  };
  return (
    <PageContext.Provider value={visit}>
      <Shell route={route} live={live}>
        <ViewOf route={route} />
      </Shell>
      {draft && <ActionDialog draft={draft} onClose={close} />}
    </PageContext.Provider>
  );
}
