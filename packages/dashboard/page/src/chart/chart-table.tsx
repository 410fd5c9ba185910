import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Span } from "../../../src/counts.ts";
import { formatCount } from "../../../src/counts.ts";
import type { Series } from "../format/rates.ts";
import { toBuckets } from "../format/rates.ts";
import { ShortTime } from "../parts/text.tsx";

const PARTS: Readonly<Record<Span, number>> = { "1h": 12, "24h": 24, "30d": 30 };

/** The figures of a chart as a table, for visitors who cannot see it. */
export function ChartTable({
  series,
  from,
  to,
  span,
  knownFrom,
}: {
  series: Series;
  from: number;
  to: number;
  span: Span;
  knownFrom: number;
}): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="figures" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>These figures as a table</summary>
      {isOpen && (
        <Rows series={series} from={from} to={to} count={PARTS[span]} knownFrom={knownFrom} />
      )}
    </details>
  );
}

function Rows({
  series,
  from,
  to,
  count,
  knownFrom,
}: {
  series: Series;
  from: number;
  to: number;
  count: number;
  knownFrom: number;
}): JSX.Element {
  const length = (to - from) / count;
  const parts = toBuckets(series.points, from, to, count)
    .map((part, i) => ({ ...part, from: from + i * length }))
    .filter((part) => part.from + length > knownFrom)
    .reverse();
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must have keyboard focus
    <section class="scroll" tabIndex={0} aria-label="Decisions over time">
      <table>
        <thead>
          <tr>
            <th scope="col">From</th>
            <th scope="col" class="number">
              Allowed
            </th>
            <th scope="col" class="number">
              Denied
            </th>
            <th scope="col" class="number">
              Without Redis
            </th>
          </tr>
        </thead>
        <tbody>
          {parts.map((part) => (
            <tr key={part.from}>
              <td>
                <ShortTime at={part.from} />
              </td>
              <td class="number">{formatCount(part.allowed)}</td>
              <td class="number">{formatCount(part.denied)}</td>
              <td class="number">{formatCount(part.degraded)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
