/** The style of a report, in the colors of `COLORS`. */
export const REPORT_STYLE = `
*{box-sizing:border-box}
h1{font-size:1.75em;line-height:1.25;margin:0 0 .5em;text-wrap:balance}
h2{font-size:1.25em;margin:2.25em 0 .5em;padding-bottom:.25em;border-bottom:1px solid var(--line)}
h3{font-size:1em;margin:1.5em 0 .25em}
p,ul{margin:.5em 0;max-width:46em}
ul{padding-left:1.25em}
li{margin:.25em 0}
p,li,h1,h3,figcaption,caption,bdi,code{overflow-wrap:anywhere}
.verdict{display:block}
.verdict+.verdict{font-size:.8em;margin-top:.25em}
.lead{font-size:1.0625em}
.lead,.quiet,summary,footer{color:var(--quiet)}
.quiet,summary,caption,figcaption,footer{font-size:.875em}
.caveats{border-left:4px solid var(--denied);background:var(--shade);padding:.5em 1em;margin:1em 0}
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
thead th{vertical-align:bottom}
thead bdi{overflow-wrap:normal}
th{font-weight:600}
th.words,td.words{text-align:left}
td.words{min-width:9em}
th[scope=row]{font-weight:400;min-width:11em}
.who{color:var(--quiet);font-size:.9375em;font-weight:400;max-width:30em}
.whole{white-space:nowrap}
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

/** The roles of colors. */
export type ColorRole =
  | "page"
  | "text"
  | "quiet"
  | "line"
  | "shade"
  | "admitted"
  | "denied"
  | "policy";

/** The colors by role, on a light and on a dark page. Text has a contrast of at least 4.5, shapes of at least 3. */
export const COLORS: Readonly<Record<ColorRole, readonly [light: string, dark: string]>> = {
  page: ["#ffffff", "#0d1117"],
  text: ["#1f2328", "#e6edf3"],
  quiet: ["#59636e", "#9198a1"],
  line: ["#d1d9e1", "#3d444e"],
  shade: ["#f4f6f8", "#161b22"],
  admitted: ["#1a72d0", "#4c9bf0"],
  denied: ["#b84f00", "#f0883e"],
  policy: ["#8250df", "#b083f0"],
};
