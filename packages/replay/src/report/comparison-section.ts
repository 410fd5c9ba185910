import { formatCount, formatShare } from "../format/number.ts";
import { formatSpan } from "../format/time.ts";
import type { PolicyResult, ReplayResult } from "../replay/result.ts";
import { renderFigure, renderLegend } from "./figure.ts";
import type { Markup } from "./markup.ts";
import { html } from "./markup.ts";
import { renderLimits, renderName } from "./policy-name.ts";
import { sharesChart } from "./shares-chart.ts";
import type { Cell } from "./table.ts";
import { renderTable } from "./table.ts";

const COLUMNS = [
  { title: "Limit", kind: "words" },
  { title: "Clients denied" },
  { title: "Requests denied" },
  { title: "Wait, median" },
  { title: "Wait, 99 %" },
  { title: "Longest wait" },
] as const;

/** Compares policies: a chart of the drawn ones, and a table of all. */
export function renderComparison(result: ReplayResult, drawn: readonly PolicyResult[]): Markup {
  const rows = result.policies.slice(0, 100).map((policy) => rowOf(policy, result));
  return html`${renderFigure(
    {
      id: "shares",
      title: "Shares that each limit would have denied",
      description: drawn.map((policy) => describe(policy, result)).join("; "),
      caption: html`Share of clients, and of requests, that each limit would have denied`,
      legend: renderLegend([
        { use: "policy", words: "clients" },
        { use: "denied", words: "requests" },
      ]),
    },
    (width) => sharesChart(result, drawn, width),
  )}${renderTable({
    caption:
      "What each limit would have denied, and the waits that denied clients would have been told",
    columns: COLUMNS,
    rows,
    hasCards: true,
  })}`;
}

function describe({ denied, clientsDenied }: PolicyResult, { log }: ReplayResult): string {
  return `${formatShare(clientsDenied, log.clients)} of clients, ${formatShare(denied, log.requests)} of requests`;
}

function rowOf(policy: PolicyResult, { log }: ReplayResult): Cell[] {
  const { denied, clientsDenied, waitsMs } = policy;
  return [
    html`<strong>${renderName(policy)}</strong><br><span class="quiet">${renderLimits(policy)}</span>`,
    `${formatCount(clientsDenied)} (${formatShare(clientsDenied, log.clients)})`,
    `${formatCount(denied)} (${formatShare(denied, log.requests)})`,
    ...(["p50", "p99", "max"] as const).map((of) => (waitsMs ? formatSpan(waitsMs[of]) : "–")),
  ];
}
