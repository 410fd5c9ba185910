import { formatCount, formatShare } from "../format/number.ts";
import { formatSpan } from "../format/time.ts";
import type { PolicyResult, ReplayResult } from "../replay/result.ts";
import type { Chart } from "./chart.ts";
import { crisp, drawArea, drawLine, drawText, renderFigure, renderLegend, round } from "./chart.ts";
import type { Markup } from "./markup.ts";
import { html } from "./markup.ts";
import type { ColorRole } from "./report-style.ts";
import type { Cell } from "./table.ts";
import { renderTable } from "./table.ts";
import { renderLimits, renderName, shortName } from "./verdict.ts";

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
      "What each limit would have denied, and how long it would have told denied clients to wait",
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

/** Pixels: the height of a row, the space above, the height of a bar, and the distance between bars. */
const ROW = 52;
const TOP = 4;
const BAR = 14;
const BAR_TO_BAR = 17.5;
const RIGHT = 150;

/** The width of a character of a name in pixels. */
const CHARACTER = 7;

/** Draws the shares of clients and of requests that each policy denies. */
function sharesChart(
  { log }: ReplayResult,
  policies: readonly PolicyResult[],
  width: number,
): Chart {
  const most = width < 500 ? 12 : 30;
  const names = policies.map((policy) => shortName(policy, most));
  const left = Math.max(...names.map(({ length }) => length)) * CHARACTER + 16;
  const shares = policies.flatMap((one) => [
    one.denied / log.requests,
    one.clientsDenied / log.clients,
  ]);
  const scale = (width - left - RIGHT) / (Math.max(...shares) || 1);
  const bar = (part: number, whole: number, what: string, top: number, use: ColorRole): Markup => {
    const right = round(left + (part / whole) * scale);
    const words = `${formatShare(part, whole)} of ${what}`;
    return html`${drawArea(`M${left} ${top}H${right}v${BAR}H${left}Z`, use)}${drawText(words, right + 5, top + BAR / 2, "start")}`;
  };
  const rows = policies.map(({ clientsDenied, denied }, i) => {
    const top = TOP + i * ROW;
    const first = top + (ROW - BAR_TO_BAR - BAR) / 2;
    return html`${drawText(names[i] ?? "", left - 8, top + ROW / 2, "end", "text")}${bar(clientsDenied, log.clients, "clients", first, "policy")}${bar(denied, log.requests, "requests", first + BAR_TO_BAR, "denied")}`;
  });
  const bottom = TOP + policies.length * ROW;
  return {
    width,
    height: bottom + TOP,
    shapes: html`${drawLine(`M${crisp(left)} ${TOP}V${bottom}`, "line", 1)}${rows}`,
  };
}
