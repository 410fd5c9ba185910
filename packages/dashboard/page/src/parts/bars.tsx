import type { ComponentChildren, JSX } from "preact";
import { formatCount } from "../../../src/counts.ts";
import { formatShare } from "../format/numbers.ts";

export interface Bar {
  readonly key: string;
  readonly label: ComponentChildren;
  readonly count: number;
}

/** Counts side by side; the longest bar is the largest count, and shares are of the total. */
export function Bars({ bars }: { bars: readonly Bar[] }): JSX.Element {
  const most = Math.max(1, ...bars.map(({ count }) => count));
  const total = bars.reduce((all, { count }) => all + count, 0);
  return (
    <ul class="bars">
      {bars.map(({ key, label, count }) => (
        <li key={key}>
          <span class="label">{label}</span>
          <span class="track">
            <span class="bar" style={{ width: `${(count / most) * 100}%` }} />
          </span>
          <span class="figure">
            {formatCount(count)} <span class="quiet">{formatShare(count, total)}</span>
          </span>
        </li>
      ))}
    </ul>
  );
}

/** How much of a limit is used. */
export function Gauge({
  used,
  most,
  isFull,
}: {
  used: number;
  most: number;
  isFull: boolean;
}): JSX.Element {
  const share = most > 0 ? Math.min(1, used / most) : 1;
  return (
    <span class={isFull ? "gauge full" : "gauge"} aria-hidden="true">
      <span style={{ width: `${share * 100}%` }} />
    </span>
  );
}
