import { formatShare } from "@headgate/replay/internal";
import type { JSX } from "preact";
import { useContext } from "preact/hooks";
import type { DenialCount, LimiterView } from "../../../src/api.ts";
import { formatCount, pluralize } from "../../../src/counts.ts";
import { ChartPanel } from "../chart/chart.tsx";
import { usePolling } from "../client/use-polling.ts";
import { formatRate, ratesOfMinute } from "../format/rates.ts";
import { SPAN_PHRASES } from "../format/time.ts";
import { PageContext, StaleContext } from "../page-context.ts";
import { ActionButton } from "../parts/menu.tsx";
import { Badge, Empty, Panel } from "../parts/panel.tsx";
import { Name, ShortTime, SubjectLink } from "../parts/text.tsx";
import type { Route } from "../route.ts";
import { hrefOf, spanOf } from "../route.ts";
import { Overrides, removeOverride } from "./overrides.tsx";
import { Policies } from "./policies.tsx";
import { Processes } from "./processes.tsx";
import { TopSubjects } from "./top-subjects.tsx";

/** One limiter: its denials, by subject and by limit, and the processes that have it. */
export function Limiter({ route, name }: { route: Route; name: string }): JSX.Element {
  const span = spanOf(route);
  const { data, failure } = usePolling<LimiterView>(`limiter ${span} ${name}`, (source, signal) =>
    source.limiter(name, span, signal),
  );
  if (data === undefined) {
    return (
      <>
        <h1>
          <Name value={name} />
        </h1>
        {failure?.status === 404 ? (
          <Empty>
            There is no limiter of this name that you may see.{" "}
            <a href={hrefOf("limiter")}>All limiters</a>
          </Empty>
        ) : (
          !failure && <p class="quiet">Loading…</p>
        )}
      </>
    );
  }
  return <Found view={data} route={route} />;
}

function Found({ view, route }: { view: LimiterView; route: Route }): JSX.Element {
  const { policies, versionNotes, processes } = view;
  const policyOf = (id: string): string | undefined => {
    const found = policies.findIndex((one) => one.processes.includes(id));
    return found === -1 ? undefined : String.fromCharCode(65 + found);
  };
  return (
    <>
      <LimiterHeadline view={view} />
      <ChartPanel view={view} route={route} isInShadow={view.shadow} />
      <div class="columns">
        <Policies policies={policies} versionNotes={versionNotes} processes={processes} />
        <ByLimit view={view} />
      </div>
      <div class="columns">
        <TopSubjects view={view} kind="denied" />
        <TopSubjects view={view} kind="used" />
      </div>
      <Panel title="Overrides">
        <Overrides overrides={view.overrides} isOfOne />
      </Panel>
      <Panel title="Processes">
        <Processes processes={processes} policyOf={policies.length > 1 ? policyOf : undefined} />
      </Panel>
    </>
  );
}

/** The limiter's current rate of denials, with the actions on the whole limiter. */
function LimiterHeadline({ view }: { view: LimiterView }): JSX.Element {
  const { name, shadow, policies, totals, lastMinute } = view;
  const isStale = useContext(StaleContext);
  const now = ratesOfMinute(lastMinute);
  return (
    <div class="headline">
      <div class="with-tools">
        <h1>
          <Name value={name} />
          {shadow && <Badge tone="info">shadow: denies nothing</Badge>}
          {policies.length > 1 && <Badge tone="warn">{policies.length} versions</Badge>}
        </h1>
        <Tools view={view} />
      </div>
      <p>
        {isStale
          ? `It ${shadow ? "would have denied" : "denied"} `
          : `It ${shadow ? "would now deny" : "now denies"} `}
        <strong class={now.denied > 0 ? "is-denied" : ""}>
          {formatRate(now.denied)} of {formatRate(now.allowed + now.denied)} requests per second
        </strong>
        . <OverSpan view={view} />
        {totals.degraded > 0 && (
          <> {pluralize(totals.degraded, "decision was", "decisions were")} made without Redis.</>
        )}
        {shadow && totals.denied > 0 && (
          <>
            {" "}
            Counted by its mode now: before it was put in shadow mode, such requests were denied.
          </>
        )}
      </p>
    </div>
  );
}

function OverSpan({
  view: { totals, span, shadow, denials, denied },
}: {
  view: LimiterView;
}): JSX.Element {
  const all = totals.allowed + totals.denied;
  const [most] = denials;
  const unknown = denials.find(({ cause }) => cause.kind === "unknown")?.denied ?? 0;
  const [top] = denied;
  if (all === 0) return <>It decided nothing {SPAN_PHRASES[span]}.</>;
  return (
    <>
      {formatCount(totals.denied)} of {formatCount(all)}{" "}
      {shadow ? "would have been denied" : "were denied"} {SPAN_PHRASES[span]} (
      {formatShare(totals.denied, all)})
      {most && most.denied > unknown && (
        <>
          , most by <DenialSource cause={most.cause} />
        </>
      )}
      {top && top.subject !== null && (
        <>
          ; {span === "30d" && "in the last day "}most often <SubjectLink subject={top.subject} />
        </>
      )}
      .
    </>
  );
}

function Tools({ view }: { view: LimiterView }): JSX.Element | null {
  const { isPermitted } = useContext(PageContext);
  const { name: limiter, shadow, policies, overrides } = view;
  if (!isPermitted("setOverride")) return null;
  const hasOwn = overrides.some(({ subject }) => subject === undefined);
  return (
    <div class="tools">
      <ActionButton draft={{ form: "override", limiter, numbers: policies[0]?.numbers ?? {} }}>
        {hasOwn ? "Change the override…" : "Override its limits…"}
      </ActionButton>
      <ActionButton draft={{ form: "shadow", limiter, shadow: !shadow }}>
        {shadow ? "Enforce…" : "Put in shadow mode…"}
      </ActionButton>
      {hasOwn && isPermitted("unsetOverride") && (
        <ActionButton draft={removeOverride({ limiter })}>Remove the override…</ActionButton>
      )}
    </div>
  );
}

/** Denials by limit, side by side; the longest bar is the largest count, and shares are of the total. */
function ByLimit({
  view: { denials, denialsFrom, span, shadow },
}: {
  view: LimiterView;
}): JSX.Element {
  const most = Math.max(1, ...denials.map(({ denied }) => denied));
  const total = denials.reduce((all, { denied }) => all + denied, 0);
  return (
    <Panel
      title={shadow ? "Would be denied, by limit" : "Denials by limit"}
      note={
        <>
          {shadow
            ? "Requests that would have been denied since "
            : "Requests denied, by the limit that denied them, since "}
          <ShortTime at={denialsFrom} />.
        </>
      }
    >
      {denials.length === 0 ? (
        <Empty>
          No limit {shadow ? "would have denied" : "denied"} anything {SPAN_PHRASES[span]}.
        </Empty>
      ) : (
        <>
          <ul class="bars">
            {denials.map(({ cause, denied }) => (
              <li key={JSON.stringify(cause)}>
                <span class="label">
                  {cause.kind === "limit" ? (
                    <Name value={cause.limit} />
                  ) : (
                    <DenialSource cause={cause} />
                  )}
                </span>
                <span class="track">
                  <span class="bar" style={{ width: `${(denied / most) * 100}%` }} />
                </span>
                <span class="figure">
                  {formatCount(denied)} <span class="quiet">{formatShare(denied, total)}</span>
                </span>
              </li>
            ))}
          </ul>
          {denials.some(({ cause }) => cause.kind === "unknown") && (
            <p class="note">
              Cause unknown: processes report limits every half minute, and a request denied without
              Redis may have no limit.
            </p>
          )}
        </>
      )}
    </Panel>
  );
}

/** The cause of a part of a limiter's denials, within a sentence. */
function DenialSource({ cause }: { cause: DenialCount["cause"] }): JSX.Element {
  switch (cause.kind) {
    case "limit":
      return (
        <>
          the limit <Name value={cause.limit} />
        </>
      );
    case "block":
      return <>blocks</>;
    case "otherLimits":
      return <>other limits</>;
    case "unknown":
      return <>cause unknown</>;
  }
}
