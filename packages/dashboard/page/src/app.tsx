import type { JSX } from "preact";
import { useLayoutEffect, useMemo, useState } from "preact/hooks";
import type { Session } from "../../src/api.ts";
import { ActionDialog } from "./actions/action-dialog.tsx";
import type { DataSource } from "./client/data-source.ts";
import { formatFailure, isPermanent } from "./client/failure.ts";
import type { PollState } from "./client/polling.ts";
import { Polling } from "./client/polling.ts";
import type { ActionDraft, LiveState, PageState } from "./page-context.ts";
import { PageContext } from "./page-context.ts";
import type { Route } from "./route.ts";
import { useRoute } from "./route.ts";
import { Shell } from "./shell.tsx";
import { Breakers } from "./views/breakers.tsx";
import { Control } from "./views/control.tsx";
import { Limiter } from "./views/limiter.tsx";
import { Limiters } from "./views/limiters.tsx";
import { Log } from "./views/log.tsx";
import { OverviewView } from "./views/overview.tsx";
import { RedisFindings } from "./views/redis.tsx";
import { ReportView } from "./views/report.tsx";
import { SubjectSearch } from "./views/subject.tsx";

/** The whole page. */
export function App({ source }: { source: DataSource }): JSX.Element {
  const { data: session, failure } = useSession(source);
  if (session) return <LoadedPage source={source} session={session} />;
  return (
    <main class="before">
      {failure ? (
        <div class="notice bad" role="alert">
          <strong>{formatFailure(failure)}</strong>
          {!isPermanent(failure) && " The page retries by itself."}
        </div>
      ) : (
        <p class="quiet">Loading…</p>
      )}
    </main>
  );
}

/** Loads the visitor's session, and retries until it succeeds. */
function useSession(source: DataSource): PollState<Session> {
  const [state, setState] = useState<PollState<Session>>({ data: undefined, failure: undefined });
  // Before the first paint: on a slow machine, each frame of these steps would delay the figures.
  useLayoutEffect(() => {
    const poll = new Polling<Session>({
      load: (signal) => source.session(signal),
      pollMs: 5_000,
      onChange: (polled) => {
        if (polled.data) poll.pause();
        setState(polled);
      },
    });
    poll.load();
    return () => poll.stop();
  }, [source]);
  return state;
}

function LoadedPage({ source, session }: { source: DataSource; session: Session }): JSX.Element {
  const route = useRoute();
  const [draft, openDialog] = useState<ActionDraft>();
  const [live, setLive] = useState<LiveState>();
  const state = useMemo<PageState>(
    () => ({
      source,
      session,
      openDialog,
      setLive,
      isPermitted: (kind) => session.actions.includes(kind),
    }),
    [source, session],
  );
  const close = (done: boolean): void => {
    openDialog(undefined);
    if (done) live?.refresh();
  };
  return (
    <PageContext.Provider value={state}>
      <Shell route={route} live={live}>
        <CurrentView route={route} />
      </Shell>
      {draft && <ActionDialog draft={draft} onClose={close} />}
    </PageContext.Provider>
  );
}

function CurrentView({ route }: { route: Route }): JSX.Element {
  switch (route.view) {
    case "overview":
      return <OverviewView route={route} />;
    case "limiter":
      return route.params["name"] === undefined ? (
        <Limiters route={route} />
      ) : (
        <Limiter route={route} name={route.params["name"]} />
      );
    case "subject":
      return <SubjectSearch route={route} />;
    case "breakers":
      return <Breakers />;
    case "control":
      return <Control />;
    case "log":
      return <Log route={route} />;
    case "redis":
      return <RedisFindings />;
    case "report":
      return <ReportView />;
  }
}
