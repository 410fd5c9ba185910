import { formatSpan } from "../output/time.ts";
import type { ClientPeaks } from "../replay/result.ts";
import { formatShortCount } from "./amounts.ts";
import { nameAbove, nameOfAxis } from "./axis-name.ts";
import { colorOf } from "./colors.ts";
import type { Chart } from "./draw-chart.ts";
import type { LimitLine } from "./limit-lines.ts";

const HEIGHT = 234;
const LEFT = 44;
const RIGHT = 24;

/** More points than a line can show. */
const MAX_POINTS = 200;

/** Pixels that a character of a label takes. */
const CHARACTER = 8;

/** Of clients whose peak is at least as high. */
interface Reached {
  readonly peak: number;
  readonly clients: number;
}

/** How many clients have a peak of at least so many requests, both on logarithmic scales, and the policies as lines. */
export function peaksChart(
  { counts, window }: ClientPeaks,
  lines: readonly LimitLine[],
  width: number,
): Chart {
  const reached = thinOut(clientsThatReach(counts));
  const mostPeak = Math.max(...reached.map(({ peak }) => peak), ...lines.map(({ units }) => units));
  const right = decadeTop(mostPeak * 1.05);
  const top = decadeTop((reached[0]?.clients ?? 1) * 1.05);
  const plotWidth = width - LEFT - RIGHT;
  const groups = groupLines(lines, (units) => (Math.log10(units) / Math.log10(right)) * plotWidth);
  return {
    width,
    height: HEIGHT,
    option: {
      grid: { left: LEFT, right: RIGHT, top: 58, bottom: 44 },
      xAxis: {
        ...axis(right, plotWidth / 40),
        ...nameOfAxis(`requests of a client within ${formatSpan(window)}`, 28),
        splitLine: { show: false },
      },
      yAxis: {
        ...axis(top, 5),
        ...nameAbove("clients", 32),
        splitLine: { lineStyle: { color: colorOf("line") } },
      },
      series: [
        {
          type: "line",
          step: "start",
          symbol: "none",
          silent: true,
          clip: false,
          emphasis: { disabled: true },
          lineStyle: { color: colorOf("admitted"), width: 2 },
          data: reached.map(({ peak, clients }) => [Math.log10(peak), Math.log10(clients)]),
          markLine: {
            silent: true,
            symbol: "none",
            lineStyle: { color: colorOf("policy"), type: "solid", width: 2 },
            label: { show: false },
            data: lines.map(({ units }) => ({ xAxis: Math.log10(units) })),
          },
        },
        ...groups.map(({ label, at }) => ({
          type: "line",
          silent: true,
          clip: false,
          symbol: "circle",
          symbolSize: 0.1,
          lineStyle: { width: 0 },
          itemStyle: { color: "none" },
          label: { show: true, position: "top", color: colorOf("text"), formatter: label },
          data: [[(at / plotWidth) * Math.log10(right), Math.log10(top)]],
        })),
      ],
    },
  };
}

/** Descending from all clients, for each peak that a client has. */
export function clientsThatReach(counts: ClientPeaks["counts"]): Reached[] {
  let clients = counts.reduce((sum, one) => sum + one.clients, 0);
  return counts.map((one) => {
    const reached = { peak: one.peak, clients };
    clients -= one.clients;
    return reached;
  });
}

/** The first and the last, and of those between the first in each of equal parts of the scale. */
function thinOut(reached: readonly Reached[]): readonly Reached[] {
  if (reached.length <= MAX_POINTS) return reached;
  const part = Math.log(reached.at(-1)?.peak ?? 1) / MAX_POINTS;
  const partOf = (i: number): number => Math.floor(Math.log(reached[i]?.peak ?? 1) / part);
  return reached.filter(
    (_, i) => i === 0 || i === reached.length - 1 || partOf(i) !== partOf(i - 1),
  );
}

/** A logarithmic axis from 1, with labels at 1, 2, 5, 10, ... as far as there is room for so many. */
function axis(end: number, room: number): object {
  const decades = Math.ceil(Math.log10(end));
  const factors = decades * 3 + 1 <= room ? [1, 2, 5] : [1];
  const each = Math.max(1, Math.ceil((decades + 1) / room));
  const customValues = Array.from({ length: decades + 1 }, (_, power) => power)
    .filter((power) => power % each === 0)
    .flatMap((power) => factors.map((factor) => Math.log10(factor * 10 ** power)))
    .filter((value) => value <= Math.log10(end) + 1e-9);
  return {
    type: "value",
    min: 0,
    max: Math.log10(end),
    axisLine: { onZero: false, lineStyle: { color: colorOf("line") } },
    axisTick: { customValues, show: true, lineStyle: { color: colorOf("line") } },
    axisLabel: {
      customValues,
      color: colorOf("quiet"),
      formatter: (value: number) => formatShortCount(Math.round(10 ** value)),
    },
  };
}

/** The next of 2, 5, 10, 20, ... */
function decadeTop(count: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, count)));
  return ([2, 5, 10].find((times) => times * power >= count) ?? 10) * power;
}

/** What policies grant, over their lines; labels that would overlap are written together. */
function groupLines(
  lines: readonly LimitLine[],
  xOf: (units: number) => number,
): { readonly label: string; readonly at: number }[] {
  const groups: { units: number[]; at: number }[] = [];
  for (const units of [...new Set(lines.map((line) => line.units))].sort((a, b) => a - b)) {
    const last = groups.at(-1);
    const at = xOf(units);
    if (last === undefined || rightOf(last) <= at - halfOf([units])) {
      groups.push({ units: [units], at });
    } else {
      last.units.push(units);
      last.at = (last.at + at) / 2;
    }
  }
  return groups.map(({ units, at }) => ({ label: labelOf(units), at }));
}

function rightOf(group: { readonly units: readonly number[]; readonly at: number }): number {
  return group.at + halfOf(group.units);
}

function halfOf(units: readonly number[]): number {
  return (labelOf(units).length / 2) * CHARACTER;
}

function labelOf(units: readonly number[]): string {
  const [least, most] = [units.at(0) ?? 0, units.at(-1) ?? 0].map(formatShortCount);
  return least === most ? `limit ${least}` : `limits ${least}–${most}`;
}
