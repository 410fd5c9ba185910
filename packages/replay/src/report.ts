/**
 * Draws reports in a page of your own, from the results of `replay` and `recommend` as JSON. It runs in browsers.
 *
 * @packageDocumentation
 */

export { Markup } from "./report/markup.ts";
export { parseReport } from "./report/parse-report.ts";
export type { Report } from "./report/replay-report.ts";
export { REPORT_STYLE } from "./report/report-style.ts";
