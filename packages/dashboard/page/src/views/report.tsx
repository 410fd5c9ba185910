import type { Report } from "@headgate/replay/report";
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Notice } from "../parts/panel.tsx";
import { Name, ServerText } from "../parts/text.tsx";

/** The last report, for visitors who return to this view. */
let last: OpenedReport | undefined;

/** Reports of the command, opened from the visitor's files. */
export function ReportView(): JSX.Element {
  const [opened, setOpened] = useState(last);
  const [isOver, setOver] = useState(false);
  const chosen = useRef<File | undefined>(undefined);
  const open = async (file: File | null | undefined): Promise<void> => {
    setOver(false);
    if (!file) return;
    chosen.current = file;
    const report = await openReport(file);
    // A large file may take longer than one that is chosen after it.
    if (chosen.current !== file) return;
    last = report;
    setOpened(last);
  };
  useDrops(setOver, open);
  const isDrawn = opened !== undefined && typeof opened.drawing !== "string";
  return (
    <>
      {!isDrawn && <Introduction />}
      <div class={`open-report ${isOver ? "is-over" : ""}`}>
        <label>
          {isDrawn ? "Open another report" : "Open a report"}{" "}
          <input
            type="file"
            accept=".json,application/json"
            onChange={({ currentTarget }) => void open(currentTarget.files?.[0])}
          />
        </label>
        {opened && (
          <span class="quiet">
            <Name value={opened.name} />
          </span>
        )}
      </div>
      {opened && typeof opened.drawing === "string" && (
        <Notice tone="bad" title="Not opened.">
          <ServerText text={opened.drawing} />
        </Notice>
      )}
      {opened && typeof opened.drawing !== "string" && <ReportFrame drawn={opened.drawing} />}
    </>
  );
}

function Introduction(): JSX.Element {
  return (
    <>
      <h1>Which clients would a limit deny?</h1>
      <p>
        <code>headgate replay</code> and <code>headgate recommend</code> answer this from access
        logs. Open the file that they print with <code>--json</code>, or drop it here. It stays in
        this browser: nothing of it is sent to the server, and it is gone when you close the page.
      </p>
      <p>
        <code>npx @headgate/cli replay access.log --json &gt; report.json</code>
      </p>
    </>
  );
}

/** Accepts files dropped anywhere, which the browser would otherwise open instead of the page. */
function useDrops(
  setOver: (isOver: boolean) => void,
  open: (file: File | null | undefined) => Promise<void>,
): void {
  const latest = useRef(open);
  latest.current = open;
  useEffect(() => {
    const over = (event: DragEvent): void => {
      event.preventDefault();
      setOver(true);
    };
    const drop = (event: DragEvent): void => {
      event.preventDefault();
      void latest.current(event.dataTransfer?.files[0]);
    };
    const leave = (): void => setOver(false);
    addEventListener("dragover", over);
    addEventListener("dragleave", leave);
    addEventListener("drop", drop);
    return () => {
      removeEventListener("dragover", over);
      removeEventListener("dragleave", leave);
      removeEventListener("drop", drop);
    };
  }, []);
}

/** The most recently opened report: it stays in this page, and is not sent anywhere. */
interface OpenedReport {
  readonly name: string;
  /** The report and its style, or why it cannot be shown. */
  readonly drawing: ReportDrawing | string;
}

interface ReportDrawing {
  readonly report: Report;
  readonly style: string;
}

/** The command does not write larger files. */
const MAX_BYTES = 32 * 1_024 * 1_024;

const NO_REPORT =
  "This file is not a report that headgate replay or headgate recommend printed with --json";

/** Opens a file and draws it. The drawing code is loaded with the first one. */
async function openReport(file: File): Promise<OpenedReport> {
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

/** A report in a shadow tree, so that its styles and the page's do not affect each other. All texts of its markup are escaped. */
function ReportFrame({ drawn: { report, style } }: { drawn: ReportDrawing }): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const { current } = box;
    if (!current) return;
    const root = current.shadowRoot ?? current.attachShadow({ mode: "open" });
    // A sheet created by a script does not count as inline.
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(`:host{display:block;font:16px/1.5 var(--sans)}${style}`);
    root.adoptedStyleSheets = [sheet];
    root.innerHTML = report.content.markup;
  }, [report, style]);
  return <div ref={box} class="report" />;
}
