import { formatCount, formatShare } from "../format/number.ts";
import type { Recommendation, Score } from "../recommend/recommendation.ts";
import type { PolicyResult } from "../replay/result.ts";
import { renderComparison } from "./comparison-section.ts";
import { renderDeniedClients } from "./denied-clients-section.ts";
import { renderCaveatList, renderFooter, renderLog } from "./log-section.ts";
import type { Markup } from "./markup.ts";
import { html, withoutElements } from "./markup.ts";
import { renderPeaks } from "./peaks-section.ts";
import type { Report } from "./replay-report.ts";
import type { Cell } from "./table.ts";
import { renderTable } from "./table.ts";
import { renderTimelines } from "./timeline-section.ts";
import {
  renderCode,
  renderEffects,
  renderLimits,
  renderLogSummary,
  renderTime,
  renderVerdict,
} from "./verdict.ts";

/** Draws the report of a recommendation, like `replayReport`. */
export function recommendationReport(recommendation: Recommendation): Report {
  const { replay: result } = recommendation;
  const [policy] = result.policies as [PolicyResult];
  const drawn = [policy];
  const { caveats, proposal } = recommendation;
  const words = renderLimits(policy);
  const own = result.peaks.filter((_, i) => recommendation.windows[i]?.window === proposal.window);
  return {
    title: withoutElements(html`Recommended limit: ${words}`),
    content: html`<h1>Recommended limit: ${words}</h1>
<p class="quiet">${renderCode(policy)}</p>
${renderTarget(policy, recommendation)}
<p class="lead">${renderLogSummary(result.log)}</p>
<h2>What would change</h2>
<ul>${renderEffects(policy, result.log).map((change) => html`<li>${change}</li>`)}</ul>
${renderCaveatList(caveats)}${renderProof(recommendation)}${renderWindows(recommendation)}<h2>Alternatives</h2>
<p>The same window with fewer and with more requests. A lower limit protects more and denies more.</p>
${renderComparison(result, result.policies)}${renderTimelines(result, drawn)}${renderDeniedClients(result, drawn)}${renderPeaks(own, drawn)}${renderLog(result)}${renderFooter()}`,
  };
}

function renderTarget(policy: PolicyResult, { log, target, proposal }: Recommendation): Markup {
  const isMet = proposal.replays[0]?.meetsTarget === true;
  return html`<p>${renderVerdict(html`It`, policy, log)} <strong>That ${isMet ? "meets" : "misses"} the target</strong>, which is to deny at most ${target.percent} % of ${target.of}: ${formatCount(target.maxDenied)} of ${formatCount(log[target.of])}.</p>`;
}

const PROOF = [
  { title: "Limit", kind: "words" },
  { title: "Replayed on", kind: "words" },
  { title: "Clients denied" },
  { title: "Requests denied" },
  { title: "Target", kind: "words" },
] as const;

/** Renders the proof that the limit meets the target, that one unit fewer misses it, and the results on the later half of the log. */
function renderProof({ proposal }: Recommendation): Markup {
  const { units, window, replays, holdout } = proposal;
  const tighter = replays.find((one) => one.units === units - 1);
  const [own] = replays;
  const named = (count: number): string => `${formatCount(count)} per ${window}`;
  const rows = [
    ...(own ? [proofRow(`${named(units)}, recommended`, "the whole log", own)] : []),
    ...(tighter
      ? [proofRow(`${named(units - 1)}, one request fewer`, "the whole log", tighter)]
      : []),
    ...(holdout
      ? [
          proofRow(`${named(holdout.units)}, found on the earlier half`, "the later half", holdout),
          proofRow(`${named(units)}, recommended`, "the later half", holdout.proposal),
        ]
      : []),
  ];
  return html`<h2>Why this limit</h2>
<ul>
<li>${tighter ? html`It is the tightest limit per ${window} that meets the target: with one request fewer, the target is missed.` : "No limit is lower than one request."}</li>
<li>${describeUnseen(proposal)}</li>
</ul>
${renderTable({ caption: "Proof by replays of the log", columns: PROOF, rows, hasCards: true })}`;
}

function describeUnseen({ holdout, window }: Recommendation["proposal"]): Markup {
  if (holdout === null) {
    return html`It could not be tested on new traffic, because all requests have the same time.`;
  }
  const found = html`To test such a limit on new traffic, the search was repeated on the earlier half of the log alone. It found ${formatCount(holdout.units)} per ${window}. On the later half, from ${renderTime(holdout.from)} UTC, that limit would have denied ${formatCount(holdout.clientsDenied)} of ${formatCount(holdout.clients)} clients`;
  return holdout.meetsTarget
    ? html`${found}, so <strong>it meets the target on new traffic too</strong>.`
    : html`${found}, so <strong>it misses the target on new traffic</strong>. Choose a higher limit, or search a longer log.`;
}

function proofRow(
  limit: string,
  on: string,
  score: Score & { readonly meetsTarget: boolean },
): Cell[] {
  return [limit, on, ...sharesOf(score), score.meetsTarget ? "met" : "missed"];
}

function sharesOf({ clients, clientsDenied, requests, denied }: Score): Cell[] {
  return [
    `${formatCount(clientsDenied)} (${formatShare(clientsDenied, clients)})`,
    `${formatCount(denied)} (${formatShare(denied, requests)})`,
  ];
}

const WINDOWS = [
  { title: "Window", kind: "words" },
  { title: "Limit" },
  { title: "Clients denied" },
  { title: "Requests denied" },
  { title: "Allows at once" },
  { title: "Allows over time" },
  { title: "Note", kind: "words" },
] as const;

/** Renders the tightest limit of each window that meets the target. */
function renderWindows({ windows, proposal }: Recommendation): Markup {
  if (windows.length === 1) return html``;
  const rows = windows.map((one): Cell[] => [
    String(one.window),
    formatCount(one.units),
    ...sharesOf(one),
    one.isLogLongEnough ? `${one.excessAtOnce} ×` : "–",
    one.isLogLongEnough ? `${one.excessOverTime} ×` : "–",
    one.window === proposal.window
      ? "recommended"
      : one.isLogLongEnough
        ? ""
        : "the log is too short",
  ]);
  return html`<h3>Why this window</h3>
<p>${proposal.reason}</p>
<p>One client may make ${formatCount(proposal.maxPerDay)} requests a day under this limit; the busiest client of the log made ${formatCount(proposal.busiestClientPerDay)} in a day.</p>
${renderTable({ caption: "The tightest limit of each window that meets the target. × compares it with the limit of the shortest window (at once) and of the longest (over time)", columns: WINDOWS, rows, hasCards: true })}`;
}
