import { formatSpan } from "../output/time.ts";
import type { ClientPeaks, PolicyResult, ReplayResult } from "../replay/result.ts";
import { counted, formatCount, formatShare } from "./amounts.ts";
import { renderDetails, renderFigure, renderLegend } from "./figure.ts";
import { limitLines } from "./limit-lines.ts";
import type { Markup } from "./markup.ts";
import { html } from "./markup.ts";
import { clientsThatReach, peaksChart } from "./peaks-chart.ts";
import { renderTable } from "./table.ts";

/** Windows that are drawn. */
const MAX_WINDOWS = 8;

/** How busy clients are at their busiest, beside what the policies grant. */
export function renderBusy({ peaks }: ReplayResult, drawn: readonly PolicyResult[]): Markup {
  const shown = peaks.filter(({ counts }) => counts.length > 0).slice(0, MAX_WINDOWS);
  if (shown.length === 0) return html``;
  return html`<h2>How busy clients are</h2>
<p>For each client, its busiest window: how many clients made at least so many requests within any one.</p>
<p>${renderLegend([{ use: "policy", words: "what a policy grants in the window, by its number" }])}</p>
${shown.map((one, i) => renderWindow(one, i, drawn))}`;
}

function renderWindow(peaks: ClientPeaks, i: number, drawn: readonly PolicyResult[]): Markup {
  const window = formatSpan(peaks.window);
  const lines = limitLines(
    drawn.map(({ limits }) => limits),
    peaks.window,
  );
  const most = peaks.counts.at(-1)?.peak ?? 0;
  const above = lines.map(
    ({ policy, units }) =>
      `policy ${policy} grants ${formatCount(units)}, which ${counted(clientsAbove(peaks, units), "client")} exceeded`,
  );
  const says = [`the busiest client made ${formatCount(most)} requests`, ...above].join("; ");
  const error = peaks.error > 0 ? ` (approximate, within ${peaks.error * 100} %)` : "";
  return html`${renderFigure(
    html`Within ${window}${error}: ${says}`,
    {
      id: `busy-${i + 1}`,
      title: `Clients by their busiest ${window}`,
      description: says,
    },
    (width) => peaksChart(peaks, lines, width),
  )}${renderDetails(`Within ${window}, as a table`, tableOf(peaks, window))}`;
}

function clientsAbove({ counts }: ClientPeaks, units: number): number {
  return counts.reduce((sum, { peak, clients }) => (peak > units ? sum + clients : sum), 0);
}

/** By powers of two. */
function tableOf({ counts }: ClientPeaks, window: string): Markup {
  const all = clientsThatReach(counts);
  const [whole] = all;
  const mostPeak = counts.at(-1)?.peak ?? 1;
  const powers = Array.from({ length: Math.floor(Math.log2(mostPeak)) + 1 }, (_, n) => 2 ** n);
  const reach = (least: number): number => all.find(({ peak }) => peak >= least)?.clients ?? 0;
  return renderTable(
    `Clients by the most requests they made within ${window}`,
    [{ title: "At least" }, { title: "Clients" }, { title: "Share" }],
    powers.map((least) => [
      formatCount(least),
      formatCount(reach(least)),
      formatShare(reach(least), whole?.clients ?? 0),
    ]),
  );
}
