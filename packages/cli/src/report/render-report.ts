import { formatCount } from "../output/number.ts";
import type { PolicyResult, ReplayResult } from "../replay/result.ts";
import { renderBusy } from "./busy.ts";
import { renderCompared } from "./compared.ts";
import type { Markup } from "./markup.ts";
import { html, withoutElements } from "./markup.ts";
import { renderPage } from "./page.ts";
import { codeOf, nameOf, wordsOf } from "./policy-name.ts";
import { renderCare, renderRead } from "./read.ts";
import { changesOf, describeLog, verdictOf } from "./verdict.ts";
import { renderWhen } from "./when.ts";
import { renderWho } from "./who.ts";

/** Policies that are drawn; the table beside them has a hundred. */
const MAX_DRAWN = 8;

/**
 * Writes the result of a replay as one HTML file of at most a megabyte, whatever is in the log: the verdict first, static SVG, a table
 * beside each chart, no script, nothing loaded. Texts of the log are escaped and shortened.
 */
export function renderReport(result: ReplayResult): string {
  const { policies, peaks, log } = result;
  const drawn = policies.slice(0, MAX_DRAWN);
  if (log.requests === 0) {
    return renderPage(
      html`There is no request in this log`,
      html`<h1>There is no request in this log.</h1>
${renderCare(result)}${renderRead(result)}`,
    );
  }
  const verdicts = drawn.map((policy) =>
    verdictOf(subjectOf(policy, policies.length), policy, log),
  );
  return renderPage(
    withoutElements(verdicts[0] as Markup),
    html`<h1>${verdicts.map((verdict) => html`<span class="verdict">${verdict}</span> `)}</h1>
<p class="lead">${describeLog(log)}.</p>
${renderChanges(result, drawn)}${renderCare(result)}${renderWhen(result, drawn)}${renderWho(result, drawn)}${renderBusy(peaks, drawn)}${renderRead(result)}`,
  );
}

function subjectOf(policy: PolicyResult, of: number): Markup {
  if (of > 1) return html`“${nameOf(policy)}”`;
  return isOne(policy) ? html`This limit` : html`These limits`;
}

function isOne({ limits }: PolicyResult): boolean {
  return [limits].flat().length === 1;
}

function renderChanges(result: ReplayResult, drawn: readonly PolicyResult[]): Markup {
  const { policies, log } = result;
  const [only] = drawn;
  if (only !== undefined && policies.length === 1) {
    return html`<h2>What would change</h2>
<p><strong>The ${isOne(only) ? "limit" : "limits"}:</strong> ${wordsOf(only)}.<br><span class="quiet">${codeOf(only)}</span></p>
<ul>${changesOf(only, log).map((change) => html`<li>${change}</li>`)}</ul>
`;
  }
  const rest = policies.length - drawn.length;
  const left =
    rest > 0
      ? html`<p class="quiet">The first ${drawn.length} limits are drawn; ${formatCount(rest)} more are not.</p>`
      : html``;
  return html`<h2>What would change</h2>
${renderCompared(result, drawn)}${left}`;
}
