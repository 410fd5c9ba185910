import type { TopSubject } from "@headgate/core/admin";
import { escapeHidden, formatCount, pluralize } from "@headgate/replay/internal";
import type { Style } from "../output/style.ts";
import type { Column } from "../output/table.ts";
import { formatTable } from "../output/table.ts";
import { formatTime } from "../output/time.ts";
import type { CounterTop } from "./counter-top.ts";
import type { UsageTop } from "./usage-top.ts";

/** The dimension of limits without `per`. */
const DEFAULT_DIMENSION = "default";

/** Formats the subjects of a limiter for a terminal width. */
export function formatTop(top: UsageTop | CounterTop, style: Style, width: number): string {
  return top.source === "usage"
    ? formatUsage(top, style, width)
    : formatCounters(top, style, width);
}

function formatUsage(top: UsageTop, style: Style, width: number): string {
  const { limiter, by, shadow, total, wouldBeDenied, decisions, unlisted, counted, subjects } = top;
  const [allowed, denied, degraded] = [total.allowed, total.denied, total.degraded].map(
    formatCount,
  );
  const verdicts = shadow
    ? `in shadow mode, ${allowed} allowed, ${formatCount(wouldBeDenied)} of these would be denied`
    : `${allowed} allowed, ${denied} denied`;
  const head = `${style("bold", escapeHidden(limiter))}: ${verdicts}, ${degraded} of these decided without Redis\n`;
  const ofSpan = by === "used" ? total.allowed + total.denied : total.denied + wouldBeDenied;
  const columns = addDimensionColumn(subjects, [
    { head: "SUBJECT" },
    {
      head: by === "used" ? "REQUESTS" : shadow ? "WOULD BE DENIED" : "DENIED",
      align: "right",
    },
    { head: "MAX ERROR", align: "right" },
    { head: "SHARE", align: "right" },
  ]);
  const rows = subjects.map((one) => [
    ...dimensionCell(columns, one),
    formatTopSubject(one),
    formatCount(one.count),
    one.error === 0 ? "" : `+${formatCount(one.error)}`,
    // Subjects are dated when they are sent, so a count may have requests from before `from`.
    one.count > counted ? "–" : formatPercent(one.count / counted),
  ]);
  const rest = [
    ...(unlisted === 0
      ? []
      : [`Any other subject: at most ${formatCount(unlisted)} of ${formatCount(decisions)}.\n`]),
    ...(counted === ofSpan
      ? []
      : [
          `Counts and shares are of ${formatCounted(counted, top)} since ${formatTime(top.from)}.\n`,
        ]),
    ...(counted <= decisions
      ? []
      : [
          `${formatCounted(counted - decisions, top)} not counted by subject yet: processes send subjects every 30 seconds.\n`,
        ]),
  ].join("");
  if (subjects.length === 0) return `${head}\nNo subjects are listed.\n${rest}`;
  return `${head}\n${formatTable(columns, rows, width)}${rest}`;
}

/** A number of the requests or denials that a list counts. */
function formatCounted(count: number, { by, shadow }: UsageTop): string {
  if (by === "used") return pluralize(count, "request");
  return shadow
    ? `${pluralize(count, "request")} that would be denied`
    : pluralize(count, "denial");
}

function formatCounters({ limiter, subjects }: CounterTop, style: Style, width: number): string {
  const head = `${style("bold", escapeHidden(limiter))}, by its counters\n`;
  if (subjects.length === 0) return `${head}\nNo subject has used anything.\n`;
  const columns = addDimensionColumn(subjects, [
    { head: "SUBJECT" },
    { head: "USED", align: "right" },
    { head: "OF", align: "right" },
    { head: "SHARE", align: "right" },
    { head: "LIMIT" },
    { head: "" },
  ]);
  const rows = subjects.map((one) => [
    ...dimensionCell(columns, one),
    one.subject,
    formatCount(one.used),
    formatCount(one.limit),
    formatPercent(one.used / one.limit),
    one.name,
    { text: one.blocked ? "blocked" : "", style: (shown: string) => style("red", shown) },
  ]);
  return `${head}\n${formatTable(columns, rows, width)}`;
}

function formatTopSubject({ subject, hash }: TopSubject): string {
  return subject ?? `#${hash}`;
}

/** Adds a first column for the dimension unless all subjects have the default one. */
function addDimensionColumn(
  subjects: readonly { readonly dimension: string }[],
  columns: readonly Column[],
): readonly Column[] {
  const isShown = subjects.some(({ dimension }) => dimension !== DEFAULT_DIMENSION);
  return isShown ? [{ head: "PER" }, ...columns] : columns;
}

function dimensionCell([first]: readonly Column[], { dimension }: { dimension: string }): string[] {
  return first?.head === "PER" ? [dimension] : [];
}

function formatPercent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}
