import type { ComponentChildren, JSX } from "preact";
import { useContext, useEffect, useRef } from "preact/hooks";
import { formatFailure, isPermanent } from "./client/failure.ts";
import { useServerNow } from "./client/server-clock.ts";
import { truncateVisible } from "./format/text.ts";
import { formatDuration } from "./format/time.ts";
import type { LiveState } from "./page-context.ts";
import { PageContext, StaleContext } from "./page-context.ts";
import { Name, ShortTime, Zone } from "./parts/text.tsx";
import type { Route, View } from "./route.ts";
import { hrefOf } from "./route.ts";
import { RedisAway } from "./views/redis-away.tsx";

const TABS: readonly (readonly [View, string])[] = [
  ["overview", "Overview"],
  ["limiter", "Limiters"],
  ["subject", "Why denied?"],
  ["breakers", "Breakers"],
  ["control", "Blocks & overrides"],
  ["log", "Log"],
  ["redis", "Redis"],
  ["report", "Reports"],
];

/** The frame around every view: navigation, the age of the figures, and the visitor. */
export function Shell({
  route,
  live,
  children,
}: {
  route: Route;
  live: LiveState | undefined;
  children: ComponentChildren;
}): JSX.Element {
  const main = useRef<HTMLElement>(null);
  useTitle(route, main);
  const skip = (event: Event): void => {
    event.preventDefault();
    main.current?.focus();
  };
  return (
    <>
      <header class="top">
        <a class="skip" href={location.hash || "#/"} onClick={skip}>
          Skip to the figures
        </a>
        <Logo />
        <Search />
        {live && <DataAge live={live} />}
        <Zone />
        <Visitor />
      </header>
      <Tabs view={route.view} />
      <main ref={main} tabIndex={-1}>
        <FailureNotice at={live?.at} failure={live?.failure} />
        <StaleContext.Provider value={live?.failure !== undefined}>
          <LastFigures at={live?.at} failure={live?.failure}>
            {children}
          </LastFigures>
        </StaleContext.Provider>
      </main>
    </>
  );
}

/** Sets the window's title to the location, and scrolls another view to its top. */
function useTitle({ view, params }: Route, main: { current: HTMLElement | null }): void {
  const { session } = useContext(PageContext);
  const isFirst = useRef(true);
  useEffect(() => {
    const tab = TABS.find(([one]) => one === view)?.[1] ?? "";
    const name = params["name"];
    const viewName = name === undefined ? tab : truncateVisible(name, 60);
    document.title = `${viewName} – ${truncateVisible(session.title || "Headgate", 60)}`;
    if (!isFirst.current) {
      main.current?.focus({ preventScroll: true });
      scrollTo(0, 0);
    }
    isFirst.current = false;
  }, [view, params["name"]]);
}

function Logo(): JSX.Element {
  const { session } = useContext(PageContext);
  return (
    <a class="mark" href="#/">
      <svg viewBox="0 0 32 32" width="28" height="28" aria-hidden="true">
        <g fill="none" stroke="currentColor" stroke-width="3" stroke-linecap="round">
          <path d="M6 29V4M26 29V4M3 4h26" />
          <path d="M16 4v7M11 11v8M16 11v8M21 11v8M9 11h14M9 19h14" stroke-width="2.5" />
          <path d="M10 25q3-3 6 0t6 0" stroke-width="2.5" />
        </g>
      </svg>
      <span>
        <strong>
          <Name value={session.title || "Headgate"} plain />
        </strong>
        <small title="The prefix of the keys in Redis">
          <Name value={session.prefix} plain />
        </small>
      </span>
    </a>
  );
}

/** A shortcut to the subject view: why is this client denied? */
function Search(): JSX.Element {
  const find = (event: SubmitEvent): void => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const subject = new FormData(form).get("subject");
    if (typeof subject !== "string" || subject.trim() === "") return;
    location.hash = hrefOf("subject", { subject: subject.trim() });
    form.reset();
  };
  return (
    <search>
      <form class="search" onSubmit={find}>
        <input
          name="subject"
          type="search"
          placeholder="Why denied? Address, user, …"
          aria-label="Find a client by its address, or by its key as text"
          autocomplete="off"
          spellcheck={false}
        />
        <button type="submit">Find</button>
      </form>
    </search>
  );
}

/** Figures are called live for so many intervals between two requests. */
const MAX_MISSED_POLLS = 3;

/** The age of the figures, always visible. */
function DataAge({ live: { at, failure, refresh } }: { live: LiveState }): JSX.Element {
  const { session } = useContext(PageContext);
  const now = useServerNow();
  const age = at === undefined ? undefined : Math.max(0, now - at);
  // Figures of an earlier visit to this view are not live until the next response.
  const isLive = age !== undefined && age <= MAX_MISSED_POLLS * session.pollMs;
  const tone = failure ? "bad" : isLive ? "good" : "old";
  const words =
    age === undefined
      ? failure
        ? "no figures yet"
        : "loading…"
      : age < 2_000
        ? "just now"
        : `${formatAge(age)} old`;
  return (
    <button
      type="button"
      class={`age ${tone}`}
      onClick={refresh}
      title="The age of these figures. Click to refresh."
    >
      <span class="dot" aria-hidden="true" />
      <span>{failure && at !== undefined ? `Not live: ${words}` : words}</span>
    </button>
  );
}

/** Seconds, or from a minute on whole minutes: with both, the header would not fit in one line of a phone. */
function formatAge(ms: number): string {
  return formatDuration(ms < 60_000 ? ms : ms - (ms % 60_000));
}

function Visitor(): JSX.Element {
  const { session } = useContext(PageContext);
  const canAct = session.by !== null && session.actions.length > 0;
  return (
    <span
      class="visitor"
      title={canAct ? "Actions are logged under this name" : "You may view, but not act"}
    >
      {session.by === null ? null : <Name value={session.by} plain />}
      {!canAct && <span class="badge plain">read only</span>}
    </span>
  );
}

function Tabs({ view }: { view: View }): JSX.Element {
  const list = useRef<HTMLUListElement>(null);
  useEffect(() => {
    // With the frame that has the view: measured before it, the page would be laid out twice.
    const frame = requestAnimationFrame(() => {
      const { current } = list;
      const tab = current?.querySelector<HTMLElement>("[aria-current]");
      if (current && tab) {
        current.scrollLeft = tab.offsetLeft - (current.clientWidth - tab.offsetWidth) / 2;
      }
    });
    return () => cancelAnimationFrame(frame);
  }, [view]);
  return (
    <nav class="tabs" aria-label="Views">
      <ul ref={list}>
        {TABS.map(([one, title]) => (
          <li key={one}>
            <a href={hrefOf(one)} aria-current={one === view ? "page" : undefined}>
              {title}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

/** Why the figures are out of date, while they are. */
function FailureNotice({ at, failure }: Pick<LiveState, "at" | "failure">): JSX.Element {
  return (
    <>
      {failure?.outage && <RedisAway outage={failure.outage} />}
      <div aria-live="polite">
        {failure && !failure.outage && (
          <div class="notice bad">
            <strong>{formatFailure(failure)}</strong>
            {at !== undefined && " Below is the last response; its age is at the top."}
            {!isPermanent(failure) && " The page retries by itself."}
          </div>
        )}
      </div>
    </>
  );
}

/** A view, greyed and with its age if Redis does not answer. */
function LastFigures({
  at,
  failure,
  children,
}: Pick<LiveState, "at" | "failure"> & { children: ComponentChildren }): JSX.Element {
  const now = useServerNow();
  const isStale = failure?.outage !== undefined && at !== undefined;
  // The same elements either way, so that the view keeps its state.
  return (
    <section class={isStale ? "stale" : "current"} aria-labelledby={isStale ? "stale" : undefined}>
      {isStale && (
        <h2 id="stale">
          The last figures, from <ShortTime at={at} /> ({formatDuration(now - at)} old)
        </h2>
      )}
      {children}
    </section>
  );
}
