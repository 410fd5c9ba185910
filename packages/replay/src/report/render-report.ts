import { createHash } from "node:crypto";
import type { Recommendation } from "../recommend/recommendation.ts";
import type { ReplayResult } from "../replay/result.ts";
import { html, Markup } from "./markup.ts";
import { recommendationReport } from "./recommendation-report.ts";
import type { Report } from "./replay-report.ts";
import { replayReport } from "./replay-report.ts";
import { COLORS, REPORT_STYLE } from "./report-style.ts";

/**
 * Renders the report of a replay, or of a recommendation and the replay that proves it: one HTML page of at most a megabyte, without
 * scripts, which loads nothing.
 */
export function renderReport(result: ReplayResult | Recommendation): string {
  return renderPage("proposal" in result ? recommendationReport(result) : replayReport(result));
}

function variables(scheme: 0 | 1): string {
  return Object.entries(COLORS)
    .map(([use, colors]) => `--${use}:${colors[scheme]}`)
    .join(";");
}

const STYLE = `
:root{color-scheme:light dark;${variables(0)}}
@media (prefers-color-scheme:dark){:root{${variables(1)}}}
body{margin:0;background:var(--page);color:var(--text);font:16px/1.5 system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif}
main{max-width:960px;margin:0 auto;padding:24px 16px}
${REPORT_STYLE}`;

// The policy permits only this style, and no loads.
const STYLE_HASH = createHash("sha256").update(STYLE).digest("base64");
const SECURITY = `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; base-uri 'none'; form-action 'none'`;

/** Renders a complete page as one file without scripts and network access. */
function renderPage({ title, content }: Report): string {
  const style = new Markup(STYLE);
  const security = new Markup(SECURITY);
  const { markup } = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${security}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>${title}</title>
<style>${style}</style>
</head>
<body>
<main>
${content}
</main>
</body>
</html>
`;
  return markup;
}
