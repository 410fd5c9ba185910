import { formatCount, pluralize } from "../output/number.ts";
import { formatUtcTime } from "../output/time.ts";
import type { ReplayedLog, ReplayResult } from "../replay/result.ts";
import { renderDetails } from "./figure.ts";
import type { Markup } from "./markup.ts";
import { html, untrustedText } from "./markup.ts";
import { renderTable } from "./table.ts";

const MAX_FILES = 20;
const MAX_EXAMPLES = 10;

/** What to keep in mind when reading the rest; nothing where nothing is wrong. */
export function renderCaveats(result: ReplayResult): Markup {
  const { log, policies, peaks } = result;
  const evicted = policies.reduce((sum, one) => sum + one.evicted, 0);
  const error = Math.max(0, ...peaks.map((one) => one.error));
  const caveats = [
    ...(log.malformed > 0
      ? [`Skipped, because they are not requests: ${pluralize(log.malformed, "line")}.`]
      : []),
    ...(log.late > 0
      ? [
          `Too late to be put in order, and replayed at the time of the line before: ${pluralize(log.late, "line")}.`,
        ]
      : []),
    ...(evicted > 0
      ? [
          `Forgotten for want of memory while they still counted, so that denials may be missing: ${pluralize(evicted, "client")}.`,
        ]
      : []),
    ...(error > 0
      ? [`Peaks of clients are approximate, within ${error * 100} %: there were too many clients.`]
      : []),
  ];
  return renderCaveatList(caveats);
}

/** Sentences to keep in mind; nothing where there are none. */
export function renderCaveatList(caveats: readonly string[]): Markup {
  if (caveats.length === 0) return html``;
  return html`<div class="care"><p><strong>Read with care</strong></p>
<ul>${caveats.map((care) => html`<li>${care}</li>`)}</ul></div>
`;
}

/** What every report ends with. */
export function renderFooter(): Markup {
  return html`<footer>Made by Headgate from a log of the past: it shows what limits would have done, not what they will do.</footer>
`;
}

/** The lines read and skipped, folded away. */
export function renderLog({ log, policies }: ReplayResult): Markup {
  const rows = [
    ["Lines", formatCount(log.lines)],
    ["Requests", formatCount(log.requests)],
    ["Clients", formatCount(log.clients)],
    ["First request (UTC)", log.from === null ? "–" : formatUtcTime(log.from)],
    ["Last request (UTC)", log.to === null ? "–" : formatUtcTime(log.to)],
    ["Skipped lines", formatCount(log.malformed)],
    ["Lines put in order", formatCount(log.reordered)],
    ["Lines too late for that", formatCount(log.late)],
    [
      "Clients forgotten for want of memory",
      formatCount(policies.reduce((sum, { evicted }) => sum + evicted, 0)),
    ],
  ];
  const table = renderTable({
    caption: "What was read",
    columns: [{ title: "What" }, { title: "How many" }],
    rows,
  });
  return html`<h2>The log</h2>
${renderFiles(log)}${renderDetails("What was read", table)}${renderExamples(log)}`;
}

function renderFiles({ files }: ReplayedLog): Markup {
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
