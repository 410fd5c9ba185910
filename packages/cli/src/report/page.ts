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
main{max-width:960px;margin:0 auto;padding:24px 16px}
h1{font-size:1.75em;line-height:1.25;margin:0 0 .5em;text-wrap:balance}
h2{font-size:1.25em;margin:2.25em 0 .5em;padding-bottom:.25em;border-bottom:1px solid var(--line)}
h3{font-size:1em;margin:1.5em 0 .25em}
p,ul{margin:.5em 0;max-width:46em}
ul{padding-left:1.25em}
li{margin:.25em 0}
p,li,h1,h3,figcaption,caption,code,th,td{overflow-wrap:anywhere}
.verdict{display:block}
.verdict+.verdict{font-size:.8em;margin-top:.25em}
.lead{font-size:1.0625em}
.lead,.quiet,summary,footer{color:var(--quiet)}
.quiet,summary,caption,figcaption,footer{font-size:.875em}
.care{border-left:4px solid var(--denied);background:var(--shade);padding:.5em 1em;margin:1em 0}
figure{margin:1.5em 0}
figcaption{margin:0 0 .5em}
figcaption strong{display:block;font-size:1.0625em}
svg{display:block;max-width:100%;height:auto}
svg text{dominant-baseline:central;font:12px system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif}
.narrow{display:none;max-width:480px}
.narrow svg{width:100%}
.swatch{display:inline-block;width:.75em;height:.75em;border-radius:2px;margin:0 .25em 0 0}
.legend span:not(.swatch){margin-right:1em}
.swatch.admitted{background:var(--admitted)}
.swatch.denied{background:var(--denied)}
.swatch.policy{background:var(--policy)}
.scroll{overflow-x:auto;max-width:100%;background:linear-gradient(90deg,var(--page) 24px,transparent) left/48px 100% no-repeat local,linear-gradient(270deg,var(--page) 24px,transparent) right/48px 100% no-repeat local,linear-gradient(90deg,var(--line),transparent) left/12px 100% no-repeat,linear-gradient(270deg,var(--line),transparent) right/12px 100% no-repeat}
.scroll:focus-visible,summary:focus-visible{outline:2px solid var(--admitted);outline-offset:2px}
summary{cursor:pointer;padding:.25em 0}
table{border-collapse:collapse;font-size:.875em;font-variant-numeric:tabular-nums;margin:.5em 0}
caption{text-align:left;color:var(--quiet);padding:.25em 0;font-size:1em}
th,td{padding:.4em 1em .4em 0;text-align:right;vertical-align:top;border-bottom:1px solid var(--line);min-width:4.5em}
thead th{vertical-align:bottom;overflow-wrap:normal}
th{font-weight:600}
th.words,td.words{text-align:left}
th[scope=row]{font-weight:400;min-width:11em}
td:not(.words){overflow-wrap:normal}
code{font:.9375em ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
footer{margin:3em 0 1em}
@media (max-width:879px){
.wide{display:none}.narrow{display:block}
.cards,.cards tbody{display:block}
.cards caption{display:block}
.cards thead{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
.cards tr{display:block;border:1px solid var(--line);border-radius:6px;padding:.5em .75em;margin:.5em 0}
.cards th,.cards td{display:flex;justify-content:space-between;gap:1em;border:0;padding:.15em 0;min-width:0}
.cards td,.cards td.words{text-align:right}
.cards td>*{min-width:0}
.cards td::before{content:attr(data-title);color:var(--quiet);text-align:left;flex:none}
.cards th[scope=row]{display:block;font-weight:600}
.cards td:empty{display:none}
}
`;

// The only style that the page may have is this one, and it may load nothing.
const STYLE_HASH = createHash("sha256").update(STYLE).digest("base64");
const SECURITY = `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; base-uri 'none'; form-action 'none'`;

/** A whole page, in one file, that needs no script and no network. */
export function renderPage(title: Markup, content: Markup): string {
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
<footer>Made by Headgate from a log of the past: it shows what limits would have done, not what they will do.</footer>
</main>
</body>
</html>
`;
  return markup;
}
