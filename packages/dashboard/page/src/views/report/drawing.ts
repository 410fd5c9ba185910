// What draws a report, shared with the command: loaded with the first report that is opened.
export { readReport } from "../../../../../cli/src/report/read-report.ts";
export { REPORT_STYLE } from "../../../../../cli/src/report/report-style.ts";
