import type { Report } from "../../../../../cli/src/report/report.ts";

/** The most recently opened report: it stays in this page, and is not sent anywhere. */
export interface Opened {
  /** The name of the file. */
  readonly name: string;
  /** The report and its style, or why it cannot be shown. */
  readonly drawn: Drawn | string;
}

export interface Drawn {
  readonly report: Report;
  readonly style: string;
}

/** The command does not write larger files. */
const MOST_BYTES = 32 * 1_024 * 1_024;

const NO_REPORT =
  "This file is no report of headgate replay or headgate recommend, as --json prints one";

/** Opens a file and draws it. The drawing code is loaded with the first one. */
export async function openReport(file: File): Promise<Opened> {
  const { name, size } = file;
  if (size > MOST_BYTES) return { name, drawn: `${NO_REPORT}: it is larger than 32 MB.` };
  const [text, { parseReport, REPORT_STYLE: style }] = await Promise.all([
    file.text(),
    import("./drawing.ts"),
  ]);
  try {
    return { name, drawn: { report: parseReport(text), style } };
  } catch (error) {
    const why =
      error instanceof TypeError || error instanceof RangeError ? error.message : "it is not JSON";
    return { name, drawn: `${NO_REPORT}: ${why}.` };
  }
}
