import type { JSX } from "preact";
import type { Counts } from "../../../src/counts.ts";

const WIDTH = 120;
const HEIGHT = 28;

/** A small chart of requests over time, with the denied ones. */
export function Sparkline({ buckets }: { buckets: readonly Counts[] }): JSX.Element {
  const most = Math.max(1, ...buckets.map(({ allowed, denied }) => allowed + denied));
  const x = (i: number): number => Math.round((i / (buckets.length - 1)) * WIDTH * 10) / 10;
  const y = (count: number): number =>
    Math.round((HEIGHT - 1 - (count / most) * (HEIGHT - 3)) * 10) / 10;
  const line = (countOf: (counts: Counts) => number): string =>
    buckets.map((counts, i) => `${x(i)},${y(countOf(counts))}`).join(" ");
  const area = (countOf: (counts: Counts) => number): string =>
    `0,${HEIGHT - 1} ${line(countOf)} ${WIDTH},${HEIGHT - 1}`;
  const all = ({ allowed, denied }: Counts): number => allowed + denied;
  const denied = ({ denied }: Counts): number => denied;
  return (
    <svg class="sparkline" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} aria-hidden="true">
      <polygon class="all" points={area(all)} />
      <polyline class="all-line" points={line(all)} />
      {buckets.some((counts) => counts.denied > 0) && (
        <polygon class="denied" points={area(denied)} />
      )}
    </svg>
  );
}
