// Draws reports, with code shared with the command; loaded when the first report is opened.
export { parseReport } from "../../../../../cli/src/report/parse-report.ts";
export { REPORT_STYLE } from "../../../../../cli/src/report/report-style.ts";
