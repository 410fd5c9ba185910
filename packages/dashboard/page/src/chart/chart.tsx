import type { JSX } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { UsageView } from "../../../src/api.ts";
import type { Counts, Span } from "../../../src/counts.ts";
import { formatCount, SPAN_MS, SPANS } from "../../../src/counts.ts";
import type { ChartColumns } from "../format/rates.ts";
import { chartColumns, formatRate, toBuckets } from "../format/rates.ts";
import { formatShortTime } from "../format/time.ts";
import { Panel } from "../parts/panel.tsx";
import type { Column } from "../parts/table.tsx";
import { Table } from "../parts/table.tsx";
import { ShortTime } from "../parts/text.tsx";
import type { Route } from "../route.ts";
import { hrefOf } from "../route.ts";
import { Plot } from "./plot.tsx";

/** Allowed, denied and degraded decisions for each second, over the span of a view. A limiter in shadow mode only would have denied. */
export function ChartPanel({
  view,
  route,
  isInShadow = false,
}: {
  view: UsageView;
  route: Route;
  isInShadow?: boolean;
}): JSX.Element {
  const { series, stepMs, span, at, coverage } = view;
  const columns = useMemo(
    () => chartColumns({ stepMs, points: series }, at - SPAN_MS[span], at, coverage.from),
    [series, span, at],
  );
  const [hovered, setHovered] = useState<number>();
  const [box, width] = useWidth();
  return (
    <Panel
      title="Decisions per second"
      tools={<SpanSwitch route={route} span={span} />}
      note={<CoverageNote view={view} />}
    >
      <Legend columns={columns} hovered={hovered} at={at} isInShadow={isInShadow} />
      <div
        class="chart"
        ref={box}
        role="img"
        aria-label="Decisions per second over time; the same figures are in the table below"
      >
        {width > 0 && (
          <Plot columns={columns} width={width} hovered={hovered} onHover={setHovered} />
        )}
      </div>
      <Figures view={view} isInShadow={isInShadow} />
    </Panel>
  );
}

/** Chooses the span of time, in the URL. */
export function SpanSwitch({ route, span }: { route: Route; span: Span }): JSX.Element {
  return (
    <nav class="switch" aria-label="Time span">
      {SPANS.map((one) => (
        <a
          key={one}
          href={hrefOf(route.view, { ...route.params, span: one })}
          aria-current={one === span ? "true" : undefined}
        >
          {one}
        </a>
      ))}
    </nav>
  );
}

/** The part of the span that the figures cover, if not all of it. */
function CoverageNote({ view: { coverage, at, span } }: { view: UsageView }): JSX.Element | null {
  const isShort = coverage.from > at - SPAN_MS[span] * 0.98;
  return isShort ? (
    <>
      The counts begin at <ShortTime at={coverage.from} />; earlier ones are not stored.
    </>
  ) : null;
}

function useWidth(): readonly [box: { current: HTMLDivElement | null }, width: number] {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const { current } = box;
    if (current === null) return undefined;
    const measure = (): void => setWidth(Math.max(200, current.clientWidth));
    // At once, so that the chart is in the first frame: the observer would come after it.
    measure();
    const sizes = new ResizeObserver(measure);
    sizes.observe(current);
    return () => sizes.disconnect();
  }, []);
  return [box, width];
}

/** Explains the colours, with the figures of the time under the pointer. */
function Legend({
  columns,
  hovered = -1,
  at,
  isInShadow,
}: {
  columns: ChartColumns;
  hovered: number | undefined;
  at: number;
  isInShadow: boolean;
}): JSX.Element {
  const requests = columns.requests[hovered] ?? null;
  const allowed = columns.allowed[hovered] ?? null;
  const denied = requests === null || allowed === null ? null : requests - allowed;
  const time = columns.times[hovered];
  const figure = (rate: number | null = null): string =>
    rate === null ? "" : ` ${formatRate(rate)}`;
  return (
    <p class="legend" aria-hidden="true">
      <span class="key allowed">allowed{figure(allowed)}</span>
      <span class="key denied">
        {isInShadow ? "would be denied" : "denied"}
        {figure(denied)}
      </span>
      <span class="key degraded">decided without Redis{figure(columns.degraded[hovered])}</span>
      <span class="quiet">
        per second{time === undefined ? "" : `, ${formatShortTime(time * 1_000, at)}`}
      </span>
    </p>
  );
}

/** The number of rows of a chart's figures. */
const PARTS: Readonly<Record<Span, number>> = { "15m": 15, "1h": 12, "24h": 24, "30d": 30 };

/** The figures of a chart as a table, for visitors who cannot see it. */
function Figures({
  view: { series, at, span, coverage },
  isInShadow,
}: {
  view: UsageView;
  isInShadow: boolean;
}): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const from = at - SPAN_MS[span];
  const length = SPAN_MS[span] / PARTS[span];
  const parts = toBuckets(series, from, at, PARTS[span])
    .map((part, i) => ({ ...part, at: from + i * length }))
    .filter((part) => part.at + length > coverage.from)
    .reverse();
  return (
    <details class="figures" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>These figures as a table</summary>
      {isOpen && (
        <Table
          label="Decisions over time"
          columns={figureColumns(isInShadow)}
          rows={parts}
          keyOf={(part) => String(part.at)}
        />
      )}
    </details>
  );
}

function figureColumns(isInShadow: boolean): readonly Column<Counts & { readonly at: number }>[] {
  return [
    { title: "From", cell: ({ at }) => <ShortTime at={at} /> },
    { title: "Allowed", kind: "number", cell: ({ allowed }) => formatCount(allowed) },
    {
      title: isInShadow ? "Would be denied" : "Denied",
      kind: "number",
      cell: ({ denied }) => formatCount(denied),
    },
    { title: "Without Redis", kind: "number", cell: ({ degraded }) => formatCount(degraded) },
  ];
}
