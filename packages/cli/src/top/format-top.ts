import type { TopSubject } from "@headgate/core/admin";
import { formatCount } from "../output/number.ts";
import type { Style } from "../output/style.ts";
import type { Column } from "../output/table.ts";
import { formatTable } from "../output/table.ts";
import { escapeHidden } from "../output/terminal-text.ts";
import type { CounterTop, UsageTop } from "./top.ts";

/** The dimension of subjects that need none to be told apart. */
const DEFAULT_DIMENSION = "default";

/** Writes who asks most for people to read, on a terminal of a width. */
export function formatTop(top: UsageTop | CounterTop, style: Style, width: number): string {
  return top.source === "usage"
    ? formatUsage(top, style, width)
    : formatCounters(top, style, width);
}

function formatUsage(top: UsageTop, style: Style, width: number): string {
  const { limiter, by, total, decisions, unlisted, subjects } = top;
  const [allowed, denied, degraded] = [total.allowed, total.denied, total.degraded].map(
    formatCount,
  );
  const head = `${style("bold", escapeHidden(limiter))}: ${allowed} allowed, ${denied} denied, ${degraded} of them decided without Redis\n`;
  const columns = addDimensionColumn(subjects, [
    { head: "SUBJECT" },
    { head: by === "used" ? "ASKED" : "DENIED", align: "right" },
    { head: "AND AT MOST", align: "right" },
    { head: "SHARE", align: "right" },
  ]);
  const rows = subjects.map((one) => [
    ...dimensionCell(columns, one),
    formatTopSubject(one),
    formatCount(one.count),
    one.error === 0 ? "" : `+${formatCount(one.error)}`,
    formatPercent(one.count / decisions),
  ]);
  const rest =
    unlisted === 0
      ? ""
      : `Anybody else: at most ${formatCount(unlisted)} of ${formatCount(decisions)}.\n`;
  if (subjects.length === 0) return `${head}\nNobody is listed.\n${rest}`;
  return `${head}\n${formatTable(columns, rows, width)}${rest}`;
}

function formatCounters({ limiter, subjects }: CounterTop, style: Style, width: number): string {
  const head = `${style("bold", escapeHidden(limiter))}, by what its counters hold now\n`;
  if (subjects.length === 0) return `${head}\nNobody has used anything.\n`;
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

/** A column for the dimension goes in front, where there is one to be told. */
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
