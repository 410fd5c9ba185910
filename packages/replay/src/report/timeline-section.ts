import { formatCount, pluralize } from "../format/number.ts";
import { formatSpan, formatUtcTime } from "../format/time.ts";
import type { PolicyResult, ReplayResult } from "../replay/result.ts";
import { renderDetails, renderFigure, renderLegend } from "./figure.ts";
import type { Markup } from "./markup.ts";
import { html } from "./markup.ts";
import { renderName } from "./policy-name.ts";
import { renderTable } from "./table.ts";
import type { Timeline } from "./timeline-chart.ts";
import { mergeColumns, roundUp, timelineChart } from "./timeline-chart.ts";

/** The most columns of a narrow chart. */
const NARROW_COLUMNS = 80;

/** Renders admitted and denied requests over time. */
export function renderTimelines(result: ReplayResult, drawn: readonly PolicyResult[]): Markup {
  const { timeline, columnMs, log } = result;
  if (log.from === null) return html``;
  const from = log.from;
  const charts = drawn.map((policy, i) => {
    const name = drawn.length === 1 ? html`` : html`${renderName(policy)}: `;
    return renderPolicy(policy, i, name, {
      from,
      columnMs,
      requests: timeline,
      denied: policy.timeline,
    });
  });
  return html`<h2>Requests over time</h2>
${charts}${renderDetails("Requests over time, as a table", tableOf(result, from, drawn))}`;
}

function renderPolicy(policy: PolicyResult, i: number, name: Markup, timeline: Timeline): Markup {
  const { columnMs, denied, from } = timeline;
  const most = denied.reduce((at, count, column) => (count > (denied[at] ?? 0) ? column : at), 0);
  const worst =
    policy.denied === 0
      ? "no request denied"
      : `most denials, ${formatCount(denied[most] ?? 0)}, in the ${formatSpan(columnMs)} from ${formatUtcTime(from + most * columnMs)} UTC`;
  return renderFigure(
    {
      id: `when-${i + 1}`,
      title: "Requests over time, admitted and denied",
      description: `${pluralize(policy.allowed, "request")} admitted, ${formatCount(policy.denied)} denied; ${worst}`,
      caption: html`Requests over time: ${name}${worst}`,
      legend: renderLegend([
        { use: "admitted", words: "admitted" },
        { use: "denied", words: "denied" },
      ]),
    },
    (width) => {
      const shown = width < 500 ? mergeColumns(timeline, NARROW_COLUMNS) : timeline;
      return timelineChart(shown, width, roundUp(Math.max(...shown.requests)));
    },
  );
}

function tableOf(
  { timeline, columnMs }: ReplayResult,
  from: number,
  drawn: readonly PolicyResult[],
): Markup {
  const deniedBy = drawn.map((policy) =>
    drawn.length === 1 ? { title: "Denied" } : { title: html`Denied by ${renderName(policy)}` },
  );
  return renderTable({
    caption: `Requests and denials in each ${formatSpan(columnMs)}`,
    columns: [{ title: "From (UTC)" }, { title: "Requests" }, ...deniedBy],
    rows: timeline.map((requests, column) => [
      formatUtcTime(from + column * columnMs),
      formatCount(requests),
      ...drawn.map((policy) => formatCount(policy.timeline[column] ?? 0)),
    ]),
  });
}
