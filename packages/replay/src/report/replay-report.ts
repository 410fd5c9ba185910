import { formatCount } from "../format/number.ts";
import type { PolicyResult, ReplayResult } from "../replay/result.ts";
import { renderComparison } from "./comparison-section.ts";
import { renderDeniedClients } from "./denied-clients-section.ts";
import { renderCaveats, renderFooter, renderLog } from "./log-section.ts";
import type { Markup } from "./markup.ts";
import { html, withoutElements } from "./markup.ts";
import { renderPeaks } from "./peaks-section.ts";
import { renderTimelines } from "./timeline-section.ts";
import {
  renderCode,
  renderEffects,
  renderLimits,
  renderLogSummary,
  renderName,
  renderVerdict,
} from "./verdict.ts";

/** The most policies that are drawn; the table lists a hundred. */
const MAX_DRAWN = 8;

/**
 * Draws the report of a replay: the verdict first, then static SVG charts, each with a table. It has at most a megabyte, whatever is in the
 * log, whose texts are escaped and truncated. The policies must have descriptions.
 */
export function replayReport(result: ReplayResult): Report {
  const { policies, peaks, log } = result;
  const drawn = policies.slice(0, MAX_DRAWN);
  if (log.requests === 0) {
    return {
      title: html`No requests in this log`,
      content: html`<h1>This log contains no requests.</h1>
${renderCaveats(result)}${renderLog(result)}${renderFooter()}`,
    };
  }
  const verdicts = drawn.map((policy) =>
    renderVerdict(subjectOf(policy, policies.length), policy, log),
  );
  return {
    title: withoutElements(verdicts[0] as Markup),
    content: html`<h1>${verdicts.map((verdict) => html`<span class="verdict">${verdict}</span> `)}</h1>
<p class="lead">${renderLogSummary(log)}</p>
${renderChanges(result, drawn)}${renderCaveats(result)}${renderTimelines(result, drawn)}${renderDeniedClients(result, drawn)}${renderPeaks(peaks, drawn)}${renderLog(result)}${renderFooter()}`,
  };
}

function subjectOf(policy: PolicyResult, of: number): Markup {
  if (of > 1) return html`“${renderName(policy)}”`;
  return isOne(policy) ? html`This limit` : html`These limits`;
}

function isOne({ description }: PolicyResult): boolean {
  return description.grants.length === 1;
}

function renderChanges(result: ReplayResult, drawn: readonly PolicyResult[]): Markup {
  const { policies, log } = result;
  const [only] = drawn;
  if (only !== undefined && policies.length === 1) {
    return html`<h2>What would change</h2>
<p><strong>The ${isOne(only) ? "limit" : "limits"}:</strong> ${renderLimits(only)}.<br><span class="quiet">${renderCode(only)}</span></p>
<ul>${renderEffects(only, log).map((change) => html`<li>${change}</li>`)}</ul>
`;
  }
  const rest = policies.length - drawn.length;
  const left =
    rest > 0
      ? html`<p class="quiet">Only the first ${drawn.length} are drawn; ${formatCount(rest)} more are not.</p>`
      : html``;
  return html`<h2>What would change</h2>
${renderComparison(result, drawn)}${left}`;
}

/** A drawn report, for a file of its own and for the dashboard. */
export interface Report {
  /** The title, without HTML elements. */
  readonly title: Markup;
  readonly content: Markup;
}
