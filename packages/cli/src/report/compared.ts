import { formatSpan } from "../output/time.ts";
import type { PolicyResult, ReplayResult } from "../replay/result.ts";
import { formatCount, formatShare } from "./amounts.ts";
import { renderFigure, renderLegend } from "./figure.ts";
import type { Markup } from "./markup.ts";
import { html } from "./markup.ts";
import { nameOf } from "./policy-name.ts";
import { sharesChart } from "./shares-chart.ts";
import type { Cell } from "./table.ts";
import { renderTable } from "./table.ts";

const COLUMNS = [
  { title: "Policy" },
  { title: "Requests denied" },
  { title: "Share" },
  { title: "Clients denied" },
  { title: "Share" },
  { title: "Wait, median" },
  { title: "90 %" },
  { title: "99 %" },
  { title: "longest" },
] as const;

/** The policies side by side. */
export function renderCompared(result: ReplayResult, drawn: readonly PolicyResult[]): Markup {
  const { log } = result;
  const chart =
    drawn.length > 1 && log.requests > 0
      ? renderFigure(
          html`By the number of the policy: ${renderLegend([
            { use: "denied", words: "share of requests denied" },
            { use: "policy", words: "share of clients denied" },
          ])}`,
          {
            id: "shares",
            title: "Shares that each policy denies",
            description: drawn.map((policy, i) => describe(policy, i, result)).join("; "),
          },
          (width) => sharesChart(result, drawn, width),
        )
      : html``;
  const rows = result.policies.slice(0, 100).map((policy, i) => rowOf(policy, i, result));
  return html`<h2>Policies side by side</h2>
${chart}${renderTable("What each policy denies, and how long those denied are told to wait", COLUMNS, rows)}`;
}

function describe(policy: PolicyResult, i: number, { log }: ReplayResult): string {
  const requests = formatShare(policy.denied, log.requests);
  return `policy ${i + 1}: ${requests} of requests, ${formatShare(policy.clientsDenied, log.clients)} of clients`;
}

function rowOf(policy: PolicyResult, i: number, { log }: ReplayResult): Cell[] {
  const { denied, clientsDenied, waits } = policy;
  return [
    html`${i + 1}. ${nameOf(policy)}`,
    formatCount(denied),
    formatShare(denied, log.requests),
    formatCount(clientsDenied),
    formatShare(clientsDenied, log.clients),
    ...(["p50", "p90", "p99", "max"] as const).map((of) => (waits ? formatSpan(waits[of]) : "–")),
  ];
}
