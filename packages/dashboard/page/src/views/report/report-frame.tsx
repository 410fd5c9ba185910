import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { ReportDrawing } from "./open-report.ts";

/** A report in a shadow tree, so that its styles and the page's do not affect each other. All texts of its markup are escaped. */
export function ReportFrame({ drawn: { report, style } }: { drawn: ReportDrawing }): JSX.Element {
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
