import type { JSX } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Coverage, Span } from "../../../src/counts.ts";
import { SPAN_MS } from "../../../src/counts.ts";
import { formatRate } from "../format/numbers.ts";
import type { ChartColumns, Series } from "../format/rates.ts";
import { chartColumns } from "../format/rates.ts";
import { formatShortTime } from "../format/time.ts";
import { ChartTable } from "./chart-table.tsx";
import { Plot } from "./plot.tsx";

/** Allowed, denied and degraded decisions for each second, over the span. */
export function Chart({
  series,
  span,
  at,
  coverage,
}: {
  series: Series;
  span: Span;
  at: number;
  coverage: Coverage;
}): JSX.Element {
  const from = at - SPAN_MS[span];
  const columns = useMemo(
    () => chartColumns(series, from, at, coverage.from),
    [series.points, from, at],
  );
  const [hovered, setHovered] = useState<number>();
  const [box, width] = useWidth();
  return (
    <>
      <Legend columns={columns} hovered={hovered} at={at} />
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
      <ChartTable series={series} from={from} to={at} span={span} knownFrom={coverage.from} />
    </>
  );
}

/** An element's current width. */
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
  hovered,
  at,
}: {
  columns: ChartColumns;
  hovered: number | undefined;
  at: number;
}): JSX.Element {
  const requests = hovered === undefined ? null : (columns.requests[hovered] ?? null);
  const allowed = hovered === undefined ? null : (columns.allowed[hovered] ?? null);
  const degraded = hovered === undefined ? null : (columns.degraded[hovered] ?? null);
  const time = hovered === undefined ? undefined : columns.times[hovered];
  const denied = requests === null || allowed === null ? null : requests - allowed;
  const figure = (rate: number | null): string => (rate === null ? "" : ` ${formatRate(rate)}`);
  return (
    <p class="legend" aria-hidden="true">
      <span class="key allowed">allowed{figure(allowed)}</span>
      <span class="key denied">denied{figure(denied)}</span>
      <span class="key degraded">decided without Redis{figure(degraded)}</span>
      <span class="quiet">
        per second{time === undefined ? "" : `, ${formatShortTime(time * 1_000, at)}`}
      </span>
    </p>
  );
}
