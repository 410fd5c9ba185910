import { formatCount, pluralize } from "../format/number.ts";
import { formatUtcTime } from "../format/time.ts";
import { formatEvictionCaveat, formatLogCaveats } from "../log/log-notes.ts";
import type { ReplayedLog, ReplayResult } from "../replay/result.ts";
import { renderDetails } from "./chart.ts";
import type { Markup } from "./markup.ts";
import { html, untrustedText } from "./markup.ts";
import { renderTable } from "./table.ts";

const MAX_FILES = 20;
const MAX_EXAMPLES = 10;

/** Renders the caveats of a result; empty if there are none. */
export function renderCaveats(result: ReplayResult): Markup {
  const { log, policies, peaks } = result;
  const evicted = policies.reduce((sum, one) => sum + one.evicted, 0);
  const error = Math.max(0, ...peaks.map((one) => one.error));
  const caveats = [
    ...formatLogCaveats(log),
    ...(evicted > 0 ? [formatEvictionCaveat(evicted)] : []),
    ...(error > 0
      ? [
          `The peak rates are not exact, because there were too many requests: the real ones may be up to ${error * 100} % higher.`,
        ]
      : []),
  ];
  return renderCaveatList(caveats);
}

/** Renders caveats; empty if there are none. */
export function renderCaveatList(caveats: readonly string[]): Markup {
  if (caveats.length === 0) return html``;
  return html`<div class="caveats"><p><strong>Caveats</strong></p>
<ul>${caveats.map((care) => html`<li>${care}</li>`)}</ul></div>
`;
}

/** Renders the footer of every report. */
export function renderFooter(): Markup {
  return html`<footer>Made by Headgate from an access log. It shows what the limits would have done in the past. Future traffic may differ.</footer>
`;
}

/** Renders the numbers of read and skipped lines, collapsed. */
export function renderLog({ log, policies }: ReplayResult): Markup {
  const rows = [
    ["Lines", formatCount(log.lines)],
    ["Requests", formatCount(log.requests)],
    ["Clients", formatCount(log.clients)],
    ["First request (UTC)", log.from === null ? "–" : formatUtcTime(log.from)],
    ["Last request (UTC)", log.to === null ? "–" : formatUtcTime(log.to)],
    ["Skipped lines", formatCount(log.malformed)],
    ["Requests out of order, sorted", formatCount(log.reordered)],
    ["Requests too far out of order to be sorted", formatCount(log.late)],
    [
      "Counts that started over, because the memory was full",
      formatCount(policies.reduce((sum, { evicted }) => sum + evicted, 0)),
    ],
  ];
  const table = renderTable({
    caption: "The log in numbers",
    columns: [{ title: "Quantity" }, { title: "Number" }],
    rows,
  });
  return html`<h2>The log</h2>
${renderFiles(log)}${renderDetails("The log in numbers", table)}${renderExamples(log)}`;
}

function renderFiles({ files }: ReplayedLog): Markup {
  if (files.length === 0) return html``;
  const shown = files.slice(0, MAX_FILES).map(
    (file) => html`<li>${file === "-" ? "standard input" : untrustedText(file, 200)}</li>
`,
  );
  const rest = files.length - shown.length;
  return html`<ul>
${shown}${rest > 0 ? html`<li>and ${formatCount(rest)} more</li>` : html``}</ul>
`;
}

function renderExamples({ examples, malformed }: ReplayedLog): Markup {
  if (examples.length === 0) return html``;
  const columns = [
    { title: "Line", kind: "words" },
    { title: "Why", kind: "words" },
    { title: "Text", kind: "words" },
  ] as const;
  const rows = examples
    .slice(0, MAX_EXAMPLES)
    .map(({ file, number, text, reason }) => [
      html`${untrustedText(file, 60)}:${number}`,
      untrustedText(reason, 100),
      untrustedText(text, 200),
    ]);
  const caption = `The first of ${pluralize(malformed, "skipped line")}`;
  return renderDetails(caption, renderTable({ caption, columns, rows, hasCards: true }));
}
