import { formatShare, formatShortCount } from "@headgate/replay/internal";
import type { JSX } from "preact";
import type { LimiterSummary, Overview } from "../../../src/api.ts";
import type { Counts } from "../../../src/counts.ts";
import { formatCount, pluralize, SPAN_MS } from "../../../src/counts.ts";
import { SpanSwitch } from "../chart/chart.tsx";
import { areaPath, linePath } from "../chart/geometry.ts";
import { usePolling } from "../client/use-polling.ts";
import { sparklineBuckets } from "../format/rates.ts";
import { shortenLimit } from "../format/text.ts";
import { Badge, Empty, Loading, Panel } from "../parts/panel.tsx";
import type { Column } from "../parts/table.tsx";
import { Table } from "../parts/table.tsx";
import { LimiterLink, Name, ServerText } from "../parts/text.tsx";
import type { Route } from "../route.ts";
import { givenSpanOf, hrefOf, replaceHash } from "../route.ts";

/** The limiters by denials, each with its sparkline. */
export function LimiterTable({
  overview,
  route,
  find = "",
  most,
}: {
  overview: Overview;
  route: Route;
  /** Only limiters whose names contain this. */
  find?: string;
  most?: number;
}): JSX.Element {
  const { limiters, others } = overview;
  const found = limiters.filter(({ name }) => name.toLowerCase().includes(find.toLowerCase()));
  if (found.length === 0) return <NoLimiters find={find} />;
  const rows = most === undefined ? found : found.slice(0, most);
  return (
    <>
      <Table
        label="Limiters"
        columns={columnsOf(overview, route)}
        rows={rows}
        keyOf={({ name }) => name}
      />
      {rows.length < found.length && (
        <p class="note">
          <a href={hrefOf("limiter", { span: route.params["span"] })}>
            All {formatCount(found.length)} limiters
          </a>
        </p>
      )}
      {others && (
        <p class="note">
          Limiters after the first {formatCount(limiters.length)} together:{" "}
          {formatCount(others.allowed)} allowed, {formatCount(others.denied)} denied.
        </p>
      )}
    </>
  );
}

function NoLimiters({ find }: { find: string }): JSX.Element {
  if (find !== "") {
    return (
      <Empty>
        No limiter has “<Name value={find} plain />” in its name.
      </Empty>
    );
  }
  return (
    <Empty>
      There is no limiter under this prefix. A limiter appears ten seconds after a process has
      created it with a store on this Redis; if yours does not, compare its <code>prefix</code> with
      the one at the top left.
    </Empty>
  );
}

function columnsOf(
  { span, at, sparklineStepMs }: Overview,
  route: Route,
): readonly Column<LimiterSummary>[] {
  const requests = ({ totals }: LimiterSummary): number => totals.allowed + totals.denied;
  return [
    {
      title: "Limiter",
      kind: "wide",
      sortKey: ({ name }) => name,
      cell: (row) => <Limiter row={row} span={route.params["span"]} />,
    },
    {
      title: "Denied",
      kind: "number",
      sortKey: deniedBy,
      cell: deniedCell,
    },
    {
      title: "Share denied",
      kind: "number",
      sortKey: (row) => deniedBy(row) / Math.max(1, requests(row)),
      cell: (row) => formatShare(deniedBy(row), requests(row)),
    },
    {
      title: "Requests",
      kind: "number",
      sortKey: requests,
      cell: (row) => (
        <span title={formatCount(requests(row))}>{formatShortCount(requests(row))}</span>
      ),
    },
    {
      title: "Over time",
      cell: ({ series, shadow }) =>
        series.length === 0 ? null : (
          <Sparkline
            buckets={sparklineBuckets(
              { stepMs: sparklineStepMs, points: series },
              SPAN_MS[span],
              at,
            )}
            isInShadow={shadow}
          />
        ),
    },
    { title: "Limits", kind: "wide spare", cell: ({ limits }) => <Limits words={limits} /> },
  ];
}

/** The requests that a limiter really denied: none in shadow mode. */
function deniedBy({ totals, shadow }: LimiterSummary): number {
  return shadow ? 0 : totals.denied;
}

/** The denials of a limiter; in shadow mode none, and how many there would be. */
function deniedCell(row: LimiterSummary): JSX.Element {
  const { denied } = row.totals;
  const really = deniedBy(row);
  return (
    <>
      <span title={formatCount(really)} class={really > 0 ? "is-denied" : "quiet"}>
        {formatShortCount(really)}
      </span>
      {row.shadow && denied > 0 && (
        <span class="quiet below" title={formatCount(denied)}>
          {formatShortCount(denied)} would be denied
        </span>
      )}
    </>
  );
}

function Limiter({ row, span }: { row: LimiterSummary; span: string | undefined }): JSX.Element {
  return (
    <>
      <LimiterLink name={row.name} span={span} />
      {row.shadow && <Badge tone="info">shadow</Badge>}
      {row.versions > 1 && <Badge tone="warn">{row.versions} versions</Badge>}
      {row.overrides > 0 && <Badge>{pluralize(row.overrides, "override")}</Badge>}
      {row.processes === 0 && <Badge>in no process</Badge>}
    </>
  );
}

function Limits({ words }: { words: readonly string[] }): JSX.Element {
  if (words.length === 0) return <span class="quiet">unknown</span>;
  return (
    <ul class="plain">
      {words.slice(0, 3).map((sentence) => (
        <li key={sentence}>
          <ServerText text={shortenLimit(sentence, "")} />
        </li>
      ))}
      {words.length > 3 && <li class="quiet">and {words.length - 3} more</li>}
    </ul>
  );
}

const WIDTH = 120;
const HEIGHT = 28;

/** A small chart of requests over time, with the denied ones; in shadow mode there are none. */
function Sparkline({
  buckets,
  isInShadow,
}: {
  buckets: readonly Counts[];
  isInShadow: boolean;
}): JSX.Element {
  const most = Math.max(1, ...buckets.map(({ allowed, denied }) => allowed + denied));
  const x = (i: number): number => (i / (buckets.length - 1)) * WIDTH;
  const y = (count: number): number => HEIGHT - 1 - (count / most) * (HEIGHT - 3);
  const all = buckets.map(({ allowed, denied }) => allowed + denied);
  const denied = buckets.map((counts) => counts.denied);
  return (
    <svg class="sparkline" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} aria-hidden="true">
      <path class="all" d={areaPath(all, x, y)} />
      <path class="all-line" d={linePath(all, x, y)} />
      {!isInShadow && denied.some((count) => count > 0) && (
        <path class="denied" d={areaPath(denied, x, y)} />
      )}
    </svg>
  );
}

/** All limiters, to select one. */
export function Limiters({ route }: { route: Route }): JSX.Element {
  const span = givenSpanOf(route);
  const find = route.params["find"] ?? "";
  const { data, failure } = usePolling<Overview>(`overview ${span}`, (source, signal) =>
    source.overview(span, signal),
  );
  if (data === undefined) return <Loading title="Limiters" failure={failure} />;
  return (
    <>
      <h1>Limiters</h1>
      <Panel
        title="By denials"
        tools={
          <>
            <input
              type="search"
              aria-label="Part of a limiter's name"
              placeholder="Part of a name"
              value={find}
              onInput={({ currentTarget }) =>
                replaceHash(hrefOf("limiter", { ...route.params, find: currentTarget.value }))
              }
            />
            <SpanSwitch route={route} span={data.span} />
          </>
        }
      >
        <LimiterTable overview={data} route={route} find={find} />
      </Panel>
    </>
  );
}
