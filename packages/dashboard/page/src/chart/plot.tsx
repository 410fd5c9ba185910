import { formatShortCount } from "@headgate/replay/internal";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { ChartColumns } from "../format/rates.ts";
import { areaPath, linePath, rateTicks, timeTicks } from "./geometry.ts";

const HEIGHT = 230;
const LEFT = 52;
const RIGHT = 12;
const TOP = 8;
const BOTTOM = HEIGHT - 28;

/** The width of an axis label, in pixels. */
const TIME = 70;
const RATE = 44;

/** Draws the columns at a width; `onHover` receives the column under the pointer. */
export function Plot({
  columns,
  width,
  hovered,
  onHover,
}: {
  columns: ChartColumns;
  width: number;
  hovered: number | undefined;
  onHover: (index: number | undefined) => void;
}): JSX.Element {
  const right = width - RIGHT;
  const last = Math.max(1, columns.times.length - 1);
  const point = ({ clientX, currentTarget }: PointerEvent): void => {
    const from = (currentTarget as Element).getBoundingClientRect().left + LEFT;
    const at = Math.round(((clientX - from) / (right - LEFT)) * last);
    onHover(at >= 0 && at < columns.times.length ? at : undefined);
  };
  return (
    <svg
      width={width}
      height={HEIGHT}
      aria-hidden="true"
      onPointerMove={point}
      onPointerLeave={() => onHover(undefined)}
    >
      <Drawing columns={columns} right={right} />
      {hovered !== undefined && <Cursor columns={columns} right={right} at={hovered} />}
    </svg>
  );
}

/** The positions of a column and a rate, in pixels. */
function positionsOf({ times, requests }: ChartColumns, right: number) {
  const most = Math.max(0.1, ...requests.map((rate) => (rate ?? 0) * 1.08));
  const last = Math.max(1, times.length - 1);
  return {
    most,
    x: (i: number): number => LEFT + (i / last) * (right - LEFT),
    y: (rate: number): number => BOTTOM - (rate / most) * (BOTTOM - TOP),
  };
}

function Drawing({ columns, right }: { columns: ChartColumns; right: number }): JSX.Element {
  return useMemo(() => {
    const { requests, allowed, degraded, times } = columns;
    const { x, y, most } = positionsOf(columns, right);
    const [first = 0, end = first] = [times[0], times.at(-1)];
    const xOf = (ms: number): number =>
      LEFT + ((ms / 1_000 - first) / Math.max(1, end - first)) * (right - LEFT);
    const some = (i: number): boolean => (degraded[i] ?? 0) > 0;
    const drawn = degraded.map((rate, i) => (some(i - 1) || some(i) || some(i + 1) ? rate : null));
    return (
      <>
        {rateTicks(most, Math.floor((BOTTOM - TOP) / RATE)).map((rate) => (
          <g key={rate}>
            <path class="grid" d={`M${LEFT} ${Math.floor(y(rate)) + 0.5}H${right}`} />
            <text x={LEFT - 8} y={y(rate)} text-anchor="end">
              {formatShortCount(rate)}
            </text>
          </g>
        ))}
        {timeTicks(first * 1_000, end * 1_000, (right - LEFT) / TIME)
          .filter(({ at }) => xOf(at) < right - TIME / 4)
          .map(({ at, label }) => (
            <text key={at} x={xOf(at)} y={BOTTOM + 16} text-anchor="middle">
              {label}
            </text>
          ))}
        <path class="denied area" d={areaPath(requests, x, y)} />
        <path class="allowed area" d={areaPath(allowed, x, y)} />
        <path class="denied line" d={linePath(requests, x, y)} />
        <path class="allowed line" d={linePath(allowed, x, y)} />
        <path class="degraded line" d={linePath(drawn, x, y)} />
      </>
    );
  }, [columns, right]);
}

function Cursor({
  columns,
  right,
  at,
}: {
  columns: ChartColumns;
  right: number;
  at: number;
}): JSX.Element {
  const { x, y } = positionsOf(columns, right);
  const dots = [
    ["denied", columns.requests[at]],
    ["allowed", columns.allowed[at]],
  ] as const;
  return (
    <>
      <path class="cursor" d={`M${x(at)} ${TOP}V${BOTTOM}`} />
      {dots.map(([name, rate]) =>
        rate === null || rate === undefined ? null : (
          <circle key={name} class={`${name} dot`} cx={x(at)} cy={y(rate)} r="3.5" />
        ),
      )}
    </>
  );
}
