import { createHash } from "node:crypto";
import { COLORS } from "./colors.ts";
import type { Markup } from "./markup.ts";
import { html } from "./markup.ts";

function variables(scheme: 0 | 1): string {
  return Object.entries(COLORS)
    .map(([use, colors]) => `--${use}:${colors[scheme]}`)
    .join(";");
}

const STYLE = `
:root{color-scheme:light dark;${variables(0)}}
@media (prefers-color-scheme:dark){:root{${variables(1)}}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--text);font:16px/1.5 system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif}
main{max-width:872px;margin:0 auto;padding:16px}
h1{font-size:1.6em;line-height:1.25;margin:.5em 0}
h2{font-size:1.25em;margin:2em 0 .5em;padding-bottom:.25em;border-bottom:1px solid var(--line)}
h3{font-size:1em;margin:1.5em 0 .25em}
p,ul{margin:.5em 0}
p,li,h1,h3,figcaption,dd{overflow-wrap:anywhere}
.whole{white-space:nowrap}
.quiet,figcaption,summary{color:var(--quiet);font-size:.875em}
.care{border-left:4px solid var(--denied);background:var(--shade);padding:.5em 1em}
figure{margin:1em 0}
svg{display:block;max-width:100%;height:auto}
td svg{max-width:none}
svg text{font:12px system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif}
.narrow{display:none;max-width:480px}
.narrow svg{width:100%}
@media (max-width:759px){.wide{display:none}.narrow{display:block}th[scope=row]{white-space:normal;overflow-wrap:break-word}}
.swatch{display:inline-block;width:.75em;height:.75em;border-radius:2px;margin:0 .25em 0 0}
.legend span:not(.swatch){margin-right:1em}
.swatch.admitted{background:var(--admitted)}
.swatch.denied{background:var(--denied)}
.swatch.policy{background:var(--policy)}
.scroll{overflow-x:auto;max-width:100%}
.scroll:focus-visible,summary:focus-visible{outline:2px solid var(--admitted);outline-offset:2px}
summary{cursor:pointer;padding:.25em 0}
table{border-collapse:collapse;font-size:.875em;font-variant-numeric:tabular-nums;margin:.5em 0}
caption{text-align:left;color:var(--quiet);padding:.25em 0}
th,td{padding:.25em .75em .25em 0;text-align:right;white-space:nowrap;vertical-align:middle;border-bottom:1px solid var(--line)}
th{font-weight:600}
th.words,td.words{text-align:left}
td.long{white-space:normal;overflow-wrap:anywhere;min-width:16em}
th[scope=row]{font-weight:400}
code{font:.9375em ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
footer{margin:3em 0 1em}
`;

// The only style that the page may have is this one, and it may load nothing.
const STYLE_HASH = createHash("sha256").update(STYLE).digest("base64");
const SECURITY = `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; base-uri 'none'; form-action 'none'`;

/** A whole page, in one file, that needs no script and no network. */
export function renderPage(title: string, content: Markup): string {
  const style: Markup = { markup: STYLE };
  const security: Markup = { markup: SECURITY };
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
