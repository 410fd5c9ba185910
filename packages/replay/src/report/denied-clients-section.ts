import { formatCount, formatShare, pluralize } from "../format/number.ts";
import { formatSpan } from "../format/time.ts";
import type { DeniedClient, PolicyResult, ReplayResult } from "../replay/result.ts";
import { renderChart, renderLegend } from "./chart.ts";
import type { Markup } from "./markup.ts";
import { html, untrustedText } from "./markup.ts";
import type { Cell } from "./table.ts";
import { renderTable } from "./table.ts";
import { mergeColumns, sparkChart } from "./timeline-section.ts";
import { renderName, renderTime } from "./verdict.ts";

/** The most clients listed, and the most whose traffic is drawn, for all policies together. */
const MAX_ROWS = 200;
const MAX_DRAWN = 40;

const SPARK = { width: 160, height: 28, columns: 60 };

const COLUMNS = [
  { title: "Client", kind: "words" },
  { title: "Requests over time", kind: "words" },
  { title: "Requests" },
  { title: "Denied" },
  { title: "First denied (UTC)" },
  { title: "Last denied (UTC)" },
  { title: "Longest wait" },
] as const;

/** Renders the clients that each policy denies, with their traffic. */
export function renderDeniedClients(result: ReplayResult, drawn: readonly PolicyResult[]): Markup {
  const denying = drawn.filter(({ clients }) => clients.length > 0);
  if (denying.length === 0) return html``;
  const parts = denying.map((policy, i) =>
    renderPolicy(policy, i, denying.length, drawn.length, result),
  );
  return html`<h2>Denied clients</h2>
<p class="quiet">${renderLegend([
    { use: "admitted", words: "admitted" },
    { use: "denied", words: "denied" },
  ])} Each small chart has its own scale.</p>
${parts}`;
}

function renderPolicy(
  policy: PolicyResult,
  i: number,
  of: number,
  drawn: number,
  result: ReplayResult,
): Markup {
  const { clients, clientsDenied } = policy;
  const shown = clients.slice(0, Math.floor(MAX_ROWS / of));
  const charts = Math.floor(MAX_DRAWN / of);
  const rows = shown.map((client, row) =>
    rowOf(client, row < charts ? sparkOf(client, `who-${i + 1}-${row + 1}`, result) : html``),
  );
  const rest = clientsDenied - shown.length;
  const left =
    rest > 0
      ? html`<p class="quiet">${pluralize(rest, "more client is", "more clients are")} not shown.</p>`
      : html``;
  const heading = drawn === 1 ? html`` : html`<h3>By ${renderName(policy)}</h3>`;
  const caption = html`Clients denied${drawn === 1 ? html`` : html` by ${renderName(policy)}`}, the most often denied first`;
  return html`${heading}
${renderTable({ caption, columns: COLUMNS, rows, hasCards: true })}${left}`;
}

function rowOf(client: DeniedClient, spark: Markup): Cell[] {
  const { requests, denied, firstDeniedAt, lastDeniedAt, longestWaitMs } = client;
  return [
    html`${untrustedText(client.client, 60)}${renderRequested(client)}`,
    spark,
    formatCount(requests),
    `${formatCount(denied)} (${formatShare(denied, requests)})`,
    renderTime(firstDeniedAt),
    renderTime(lastDeniedAt),
    formatSpan(longestWaitMs),
  ];
}

/** Who a client may be: the user agent of its denied requests, and their most frequent paths. */
function renderRequested({ agent, paths = [] }: DeniedClient): Markup {
  const by = agent === undefined ? html`` : html`<div>${untrustedText(agent, 160)}</div>`;
  const most = paths.map(
    ({ path, denied }) =>
      html`<div>${untrustedText(path, 80)}: denied ${pluralize(denied, "time")}</div>`,
  );
  return html`<div class="who">${by}${most}</div>`;
}

function sparkOf(client: DeniedClient, id: string, { log, columnMs }: ReplayResult): Markup {
  const { timeline } = client;
  if (timeline === undefined || log.from === null) return html``;
  const { width, height, columns } = SPARK;
  const shown = mergeColumns({ from: log.from, columnMs, ...timeline }, columns);
  const most = Math.max(...shown.requests);
  return renderChart(sparkChart(shown, width, height), {
    id,
    title: "Requests of this client over time",
    description: `At most ${formatCount(most)} requests in ${formatSpan(shown.columnMs)}; ${formatCount(client.denied)} of ${formatCount(client.requests)} denied`,
  });
}
