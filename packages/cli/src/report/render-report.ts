import type { PolicyResult, ReplayResult } from "../replay/result.ts";
import { counted, formatCount, formatMoment, formatShare } from "./amounts.ts";
import { renderBusy } from "./busy.ts";
import { renderCompared } from "./compared.ts";
import type { Markup } from "./markup.ts";
import { foreignText, html } from "./markup.ts";
import { renderPage } from "./page.ts";
import { nameOf, policyOf } from "./policy-name.ts";
import { renderCare, renderRead } from "./read.ts";
import { renderWhen } from "./when.ts";
import { renderWho } from "./who.ts";

/** Policies that are drawn; the table beside them has a hundred. */
const MAX_DRAWN = 8;

/**
 * Writes what came of a replay as one HTML file of at most a megabyte, whatever is in the log: static SVG, a table beside each
 * chart, no script, nothing loaded. Texts of the log are escaped and shortened.
 */
export function renderReport(result: ReplayResult): string {
  const drawn = result.policies.slice(0, MAX_DRAWN);
  const [file = "-"] = result.log.files;
  const name = file === "-" ? "standard input" : file;
  return renderPage(
    `Headgate: a replay of ${[...name].slice(0, 100).join("")}`,
    html`${renderHead(result)}
${renderCare(result)}${renderCompared(result, drawn)}${renderWhen(result, drawn)}${renderWho(result, drawn)}${renderBusy(result, drawn)}${renderRead(result)}
<footer class="quiet">Made by headgate. A log is the past: it shows what a policy would have done, not what it will do.</footer>`,
  );
}

function renderHead(result: ReplayResult): Markup {
  const { log, policies } = result;
  const [file = "-"] = log.files;
  const name = file === "-" ? html`standard input` : foreignText(file, 100);
  const more = log.files.length > 1 ? ` and ${counted(log.files.length - 1, "other file")}` : "";
  const said =
    log.from === null || log.to === null
      ? html`<p>There is no request in this log.</p>`
      : html`<p>${counted(log.requests, "request")} of ${counted(log.clients, "client")}, <span class="whole">${formatMoment(log.from)}</span> to <span class="whole">${formatMoment(log.to)}</span> UTC.</p>
<ul>${policies.slice(0, MAX_DRAWN).map(
          (policy) => html`<li>${headlineOf(policy, result)}</li>
`,
        )}</ul>`;
  const rest = policies.length - MAX_DRAWN;
  const left =
    rest > 0
      ? html`<p class="quiet">The first ${MAX_DRAWN} policies are drawn; ${formatCount(rest)} more are not.</p>`
      : html``;
  return html`<h1>A replay of ${name}${more}</h1>
${said}
${left}`;
}

function headlineOf(policy: PolicyResult, { log }: ReplayResult): Markup {
  const { denied, clientsDenied } = policy;
  const what =
    denied === 0
      ? "denies nobody"
      : `denies ${formatCount(denied)} of ${counted(log.requests, "request")} (${formatShare(denied, log.requests)}), of ${formatCount(clientsDenied)} of ${counted(log.clients, "client")} (${formatShare(clientsDenied, log.clients)})`;
  return html`<strong>${nameOf(policy)}</strong>, ${policyOf(policy)}, ${what}.`;
}
