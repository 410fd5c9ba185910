// Draws reports, with code shared with the command; loaded when the first report is opened.
export { readReport } from "../../../../../cli/src/report/read-report.ts";
export { REPORT_STYLE } from "../../../../../cli/src/report/report-style.ts";
