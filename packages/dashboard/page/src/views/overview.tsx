import { formatShare, formatShortCount, isShedding } from "@headgate/replay/internal";
import type { ComponentChildren, JSX } from "preact";
import { useContext } from "preact/hooks";
import type { Overview } from "../../../src/api.ts";
import { formatCount, pluralize } from "../../../src/counts.ts";
import { ChartPanel } from "../chart/chart.tsx";
import { usePolling } from "../client/use-polling.ts";
import { formatRate, ratesOfMinute } from "../format/rates.ts";
import { formatLatency, SPAN_PHRASES } from "../format/time.ts";
import { StaleContext } from "../page-context.ts";
import { Loading, Panel } from "../parts/panel.tsx";
import { LimiterLink, ServerText, Subject } from "../parts/text.tsx";
import type { Route } from "../route.ts";
import { givenSpanOf, hrefOf } from "../route.ts";
import { LimiterTable } from "./limiters.tsx";
import { Processes } from "./processes.tsx";
import { DeniedClients } from "./top-subjects.tsx";

/** The overview of the fleet: the decisions, the items that need attention, and the limiters. */
export function OverviewView({ route }: { route: Route }): JSX.Element {
  const span = givenSpanOf(route);
  const { data, failure } = usePolling<Overview>(`overview ${span}`, (source, signal) =>
    source.overview(span, signal),
  );
  if (data === undefined) return <Loading title="Overview" failure={failure} />;
  return (
    <>
      <OverviewHeadline overview={data} />
      <Attention overview={data} />
      <OverviewTiles overview={data} />
      <ChartPanel view={data} route={route} />
      <DeniedClients overview={data} />
      <Panel
        title="Limiters"
        tools={<a href={hrefOf("limiter", { span: route.params["span"] })}>Find a limiter</a>}
      >
        <LimiterTable overview={data} route={route} most={20} />
      </Panel>
      <Panel title="Processes">
        <Processes processes={data.processes} />
      </Panel>
    </>
  );
}

/** The current state in a sentence, and the totals over the span. */
function OverviewHeadline({ overview }: { overview: Overview }): JSX.Element {
  const { totals, span, limiters, lastMinute: now, shadow } = overview;
  const isStale = useContext(StaleContext);
  const when = isStale ? "were denied" : "are denied now";
  const all = totals.allowed + totals.denied;
  const first = limiters.find((one) => !one.shadow);
  if (all === 0) return <NoRequests overview={overview} />;
  return (
    <div class="headline">
      <h1>
        {now.denied === 0
          ? `${isStale ? "Nothing was denied" : "Nothing is denied now"}.`
          : `${formatShare(now.denied, now.allowed + now.denied)} of requests ${when}.`}
      </h1>
      <p>
        {capitalize(SPAN_PHRASES[span])}, {formatCount(totals.denied)} of {formatCount(all)}{" "}
        requests were denied ({formatShare(totals.denied, all)})
        {first && first.totals.denied > 0 && (
          <>
            , {formatShare(first.totals.denied, totals.denied)} of them by{" "}
            <LimiterLink name={first.name} span={span} />
          </>
        )}
        .
        {shadow.totals.denied > 0 &&
          ` Limiters in shadow mode would have denied ${formatCount(shadow.totals.denied)} more.`}
      </p>
    </div>
  );
}

function NoRequests({ overview: { span, limiters } }: { overview: Overview }): JSX.Element {
  return (
    <div class="headline">
      <h1>No request was counted {SPAN_PHRASES[span]}.</h1>
      <p>
        {limiters.length === 0
          ? "No process has registered a limiter either. A process appears here ten seconds after it has created its first limiter with a store on this Redis, under this prefix."
          : "Only processes with usage turned on are counted: set the option usage of their store."}
      </p>
    </div>
  );
}

function capitalize(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/** The most items of one kind that are listed. */
const MAX_ITEMS = 5;

/** Items that need an operator's attention; nothing if there are none. */
function Attention({ overview }: { overview: Overview }): JSX.Element | null {
  const { mixedVersions, ignoredOverrides, totals, coverage, unreadable, span } = overview;
  const { silentProcesses, processes } = coverage;
  const more =
    Math.max(0, mixedVersions.length - MAX_ITEMS) +
    Math.max(0, ignoredOverrides.length - MAX_ITEMS);
  const items = mixedVersions.length + ignoredOverrides.length;
  const shedding = overview.processes.filter(({ details }) => isShedding(details)).length;
  if (items + totals.degraded + silentProcesses + unreadable + shedding === 0) return null;
  return (
    <section class="attention" aria-label="Needs attention">
      <h2>Needs attention</h2>
      <ul>
        {mixedVersions.slice(0, MAX_ITEMS).map(({ name, versions }) => (
          <li key={name}>
            Processes have different policies of <LimiterLink name={name} />: {versions} versions.
          </li>
        ))}
        {ignoredOverrides.slice(0, MAX_ITEMS).map(({ limiter, subject, why }, i) => (
          <li key={i}>
            An override of <LimiterLink name={limiter} />
            {subject && (
              <>
                {" "}
                for <Subject subject={subject} />
              </>
            )}{" "}
            is ignored: <ServerText text={why} />.
          </li>
        ))}
        {more > 0 && (
          <li>
            {pluralize(more, "more policy or override", "more policies and overrides")} of this kind
          </li>
        )}
        {totals.degraded > 0 && (
          <li>
            {pluralize(totals.degraded, "decision was", "decisions were")} made without Redis{" "}
            {SPAN_PHRASES[span]}.
          </li>
        )}
        {shedding > 0 && (
          <li>
            {pluralize(shedding, "process sheds", "processes shed")} load: requests come faster than
            they can be handled, and some clients get 503.
          </li>
        )}
        {silentProcesses > 0 && (
          <li>
            {pluralize(silentProcesses, "process", "processes")} of {processes} did not report usage
            in the last minute: the counts here are too low.
          </li>
        )}
        {unreadable > 0 && (
          <li>
            {pluralize(unreadable, "record")} could not be read, so something may be missing here.
          </li>
        )}
      </ul>
    </section>
  );
}

function OverviewTiles({ overview }: { overview: Overview }): JSX.Element {
  const { lastMinute, shadow, totals, span, store, active } = overview;
  const isStale = useContext(StaleContext);
  const inShadow = ratesOfMinute(shadow.lastMinute);
  const now = ratesOfMinute(lastMinute);
  return (
    <dl class="tiles">
      <Tile
        label={isStale ? "Requests" : "Requests now"}
        value={formatRate(now.allowed + now.denied)}
        unit="/s"
      >
        {isStale ? "in the last minute with figures" : "last minute"}
      </Tile>
      <Tile
        label={isStale ? "Denied" : "Denied now"}
        value={formatRate(now.denied)}
        unit="/s"
        tone={now.denied > 0 ? "denied" : undefined}
      >
        {formatShare(now.denied, now.allowed + now.denied)} of requests
      </Tile>
      {shadow.totals.denied > 0 && (
        <Tile label="In shadow mode" value={formatRate(inShadow.denied)} unit="/s">
          would be denied
        </Tile>
      )}
      <Tile
        label="Without Redis"
        value={formatShortCount(totals.degraded)}
        tone={totals.degraded > 0 ? "degraded" : undefined}
      >
        {SPAN_PHRASES[span]}
      </Tile>
      <Tile
        label="Blocks"
        value={active.hasAllBlocks ? formatCount(active.blocks) : null}
        href={hrefOf("control")}
      >
        {blocksNote(active)}
      </Tile>
      <Tile label="Overrides" value={formatCount(active.overrides)} href={hrefOf("control")}>
        in force
      </Tile>
      <Tile label="Deny list" value={formatCount(active.denyListEntries)} href={hrefOf("control")}>
        {active.denyListEntries === 1 ? "network" : "networks"}
      </Tile>
      <Tile label="Redis" value={formatLatency(store.latencyMs)} href={hrefOf("redis")}>
        {isStale ? "before it failed" : "to answer, median"}
      </Tile>
    </dl>
  );
}

function blocksNote({ blocks, hasAllBlocks }: Overview["active"]): string {
  if (hasAllBlocks) return "in force";
  return blocks === 0 ? "not all are known" : `at least ${formatCount(blocks)}`;
}

/** A large figure. */
function Tile({
  label,
  value,
  unit,
  tone,
  href,
  children,
}: {
  label: string;
  /** Null if unknown. */
  value: string | null;
  unit?: string;
  tone?: "denied" | "degraded" | undefined;
  href?: string;
  children?: ComponentChildren;
}): JSX.Element {
  return (
    <div class={`tile ${tone ?? ""}`}>
      <dt>{href ? <a href={href}>{label}</a> : label}</dt>
      <dd>
        {value === null ? (
          <span class="figure unknown">unknown</span>
        ) : (
          <span class="figure">
            {value}
            {unit && <span class="unit"> {unit}</span>}
          </span>
        )}
        {children && <span class="below">{children}</span>}
      </dd>
    </div>
  );
}
