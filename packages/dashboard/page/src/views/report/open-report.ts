import type { Report } from "@headgate/replay/report";

/** The most recently opened report: it stays in this page, and is not sent anywhere. */
export interface OpenedReport {
  /** The name of the file. */
  readonly name: string;
  /** The report and its style, or why it cannot be shown. */
  readonly drawing: ReportDrawing | string;
}

export interface ReportDrawing {
  readonly report: Report;
  readonly style: string;
}

/** The command does not write larger files. */
const MAX_BYTES = 32 * 1_024 * 1_024;

const NO_REPORT =
  "This file is not a report that headgate replay or headgate recommend printed with --json";

/** Opens a file and draws it. The drawing code is loaded with the first one. */
export async function openReport(file: File): Promise<OpenedReport> {
  const { name, size } = file;
  if (size > MAX_BYTES) return { name, drawing: `${NO_REPORT}: it is larger than 32 MB.` };
  const [text, { parseReport, REPORT_STYLE: style }] = await Promise.all([
    file.text(),
    import("@headgate/replay/report"),
  ]);
  try {
    return { name, drawing: { report: parseReport(text), style } };
  } catch (error) {
    const why =
      error instanceof TypeError || error instanceof RangeError ? error.message : "it is not JSON";
    return { name, drawing: `${NO_REPORT}: ${why}.` };
  }
}
