import { formatCount, formatShare, pluralize } from "../format/number.ts";
import { formatSpan } from "../format/time.ts";
import type { ClientPeaks, PolicyResult } from "../replay/result.ts";
import { renderDetails, renderFigure, renderLegend } from "./figure.ts";
import type { Markup } from "./markup.ts";
import { html } from "./markup.ts";
import type { LimitLine } from "./peaks-chart.ts";
import { clientsByPeak, limitLines, peaksChart } from "./peaks-chart.ts";
import { renderName } from "./policy-name.ts";
import { renderTable } from "./table.ts";

/** The most windows that are drawn. */
const MAX_WINDOWS = 8;

/** Renders the peak rates of clients, with the limits of the policies. */
export function renderPeaks(peaks: readonly ClientPeaks[], drawn: readonly PolicyResult[]): Markup {
  const shown = peaks.filter(({ counts }) => counts.length > 0).slice(0, MAX_WINDOWS);
  if (shown.length === 0) return html``;
  return html`<h2>Peak rates of clients</h2>
<p>The blue line shows how many clients made at least this many requests within the window, from all clients on the left to the busiest one on the right. A client to the right of a limit may still have been admitted, because a limit recovers over time.</p>
${shown.map((one, i) => renderWindow(one, i, drawn))}`;
}

function renderWindow(peaks: ClientPeaks, i: number, drawn: readonly PolicyResult[]): Markup {
  const window = formatSpan(peaks.windowMs);
  const lines = limitLines(
    drawn.map(({ description }) => description.grants),
    peaks.windowMs,
  );
  const most = peaks.counts.at(-1)?.peak ?? 0;
  const error = peaks.error > 0 ? ` (approximate, within ${peaks.error * 100} %)` : "";
  const caption = `Within ${window}${error}, the busiest client made ${pluralize(most, "request")}`;
  const above = lines.map((line) => describeLine(line, peaks, drawn));
  return html`${renderFigure(
    {
      id: `busy-${i + 1}`,
      title: `Clients by their busiest ${window}`,
      description: `${caption}; ${lines.map(({ units }) => `${countClientsAbove(peaks, units)} exceeded ${units}`).join("; ")}`,
      caption: html`${caption}`,
      legend: html`${renderLegend([
        { use: "admitted", words: "clients" },
        ...(lines.length > 0 ? [{ use: "policy" as const, words: "limits" }] : []),
      ])}${above.map((one) => html`<br>${one}`)}`,
    },
    (width) => peaksChart(peaks, lines, width),
  )}${renderDetails(`Clients by their busiest ${window}, as a table`, tableOf(peaks, window))}`;
}

function describeLine(
  { policy, units }: LimitLine,
  peaks: ClientPeaks,
  drawn: readonly PolicyResult[],
): Markup {
  const [only] = drawn;
  const name =
    drawn.length === 1 || only === undefined
      ? html`The limit`
      : renderName(drawn[policy - 1] as PolicyResult);
  return html`${name} allows ${formatCount(units)}; ${pluralize(countClientsAbove(peaks, units), "client")} made more.`;
}

function countClientsAbove({ counts }: ClientPeaks, units: number): number {
  return counts.reduce((sum, { peak, clients }) => (peak > units ? sum + clients : sum), 0);
}

/** Renders the clients by powers of two of their peak. */
function tableOf({ counts }: ClientPeaks, window: string): Markup {
  const all = clientsByPeak(counts);
  const [whole] = all;
  const mostPeak = counts.at(-1)?.peak ?? 1;
  const powers = Array.from({ length: Math.floor(Math.log2(mostPeak)) + 1 }, (_, n) => 2 ** n);
  const clientsWith = (least: number): number =>
    all.find(({ peak }) => peak >= least)?.clients ?? 0;
  return renderTable({
    caption: `Clients by the most requests they made within ${window}`,
    columns: [{ title: "Requests" }, { title: "Clients" }, { title: "Share" }],
    rows: powers.map((least) => [
      `at least ${formatCount(least)}`,
      formatCount(clientsWith(least)),
      formatShare(clientsWith(least), whole?.clients ?? 0),
    ]),
  });
}
