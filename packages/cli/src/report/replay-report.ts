import { formatCount } from "../output/number.ts";
import type { PolicyResult, ReplayResult } from "../replay/result.ts";
import { renderBusy } from "./busy.ts";
import { renderCompared } from "./compared.ts";
import type { Markup } from "./markup.ts";
import { html, withoutElements } from "./markup.ts";
import { codeOf, nameOf, wordsOf } from "./policy-name.ts";
import { renderCare, renderFooter, renderRead } from "./read.ts";
import type { Report } from "./report.ts";
import { changesOf, describeLog, verdictOf } from "./verdict.ts";
import { renderWhen } from "./when.ts";
import { renderWho } from "./who.ts";

/** Policies that are drawn; the table beside them has a hundred. */
const MAX_DRAWN = 8;

/**
 * The report of a replay, at most a megabyte, whatever is in the log: the verdict first, static SVG, a table beside each chart. Texts of
 * the log are escaped and shortened. Its policies must be described.
 */
export function replayReport(result: ReplayResult): Report {
  const { policies, peaks, log } = result;
  const drawn = policies.slice(0, MAX_DRAWN);
  if (log.requests === 0) {
    return {
      title: html`There is no request in this log`,
      content: html`<h1>There is no request in this log.</h1>
${renderCare(result)}${renderRead(result)}${renderFooter()}`,
    };
  }
  const verdicts = drawn.map((policy) =>
    verdictOf(subjectOf(policy, policies.length), policy, log),
  );
  return {
    title: withoutElements(verdicts[0] as Markup),
    content: html`<h1>${verdicts.map((verdict) => html`<span class="verdict">${verdict}</span> `)}</h1>
<p class="lead">${describeLog(log)}.</p>
${renderChanges(result, drawn)}${renderCare(result)}${renderWhen(result, drawn)}${renderWho(result, drawn)}${renderBusy(peaks, drawn)}${renderRead(result)}${renderFooter()}`,
  };
}

function subjectOf(policy: PolicyResult, of: number): Markup {
  if (of > 1) return html`“${nameOf(policy)}”`;
  return isOne(policy) ? html`This limit` : html`These limits`;
}

function isOne({ described }: PolicyResult): boolean {
  return described?.grants.length === 1;
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
