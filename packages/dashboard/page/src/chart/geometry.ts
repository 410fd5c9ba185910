import { formatClock, formatDay } from "../format/time.ts";

/** A position on an axis, in its own unit. */
export interface Tick {
  readonly at: number;
  readonly label: string;
}

type Scale = (value: number) => number;

/** The SVG path of the lines through the known points, with a line for each run without gaps. */
export function linePath(values: readonly (number | null)[], x: Scale, y: Scale): string {
  return indexRuns(values)
    .map((run) => `M${run.map((i) => pointOf(values, i, x, y)).join("L")}`)
    .join("");
}

/** The SVG path of the areas under these lines. */
export function areaPath(values: readonly (number | null)[], x: Scale, y: Scale): string {
  const base = round(y(0));
  return indexRuns(values)
    .map((run) => {
      const [first = 0, last = first] = [run[0], run.at(-1)];
      const line = run.map((i) => pointOf(values, i, x, y)).join("L");
      return `M${round(x(first))} ${base}L${line}L${round(x(last))} ${base}Z`;
    })
    .join("");
}

function pointOf(values: readonly (number | null)[], i: number, x: Scale, y: Scale): string {
  return `${round(x(i))} ${round(y(values[i] ?? 0))}`;
}

/** The indexes of runs of values without nulls. */
function indexRuns(values: readonly (number | null)[]): readonly (readonly number[])[] {
  const runs: number[][] = [];
  values.forEach((value, i) => {
    if (value === null) return;
    if (i === 0 || values[i - 1] === null) runs.push([i]);
    else runs.at(-1)?.push(i);
  });
  return runs;
}

/** Rounds to a tenth of a pixel. */
function round(pixels: number): number {
  return Math.round(pixels * 10) / 10;
}

/** Round numbers from 0 to `most`, about `count` of them: 1, 2 or 5 of a power of ten apart. */
export function rateTicks(most: number, count: number): readonly number[] {
  const power = 10 ** Math.floor(Math.log10(most / count));
  const step = power * ([1, 2, 5].find((times) => power * times * count >= most) ?? 10);
  return Array.from({ length: Math.floor(most / step) + 1 }, (_, i) => i * step);
}

const MINUTE = 60_000;
const DAY = 86_400_000;

const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720].map((minutes) => minutes * MINUTE);

/** Round times of day, or days, between two moments in milliseconds: at most `most`, by this machine's clock. */
export function timeTicks(from: number, to: number, most: number): readonly Tick[] {
  const step = STEPS.find((one) => (to - from) / one <= most);
  const days = step === undefined ? Math.ceil((to - from) / DAY / most) : 1;
  const ticks: Tick[] = [];
  const day = new Date(from);
  day.setHours(0, 0, 0, 0);
  while (day.getTime() < to) {
    const midnight = day.getTime();
    day.setDate(day.getDate() + days);
    // Counts from midnight of each day, so that clock changes do no harm.
    for (let at = midnight; at < day.getTime(); at += step ?? Number.POSITIVE_INFINITY) {
      if (at >= from && at < to) ticks.push({ at, label: labelOf(at, midnight) });
    }
  }
  return ticks;
}

/** `14:05`, and `21 Nov` at midnight. */
function labelOf(at: number, midnight: number): string {
  return at === midnight ? formatDay(at) : formatClock(at);
}
