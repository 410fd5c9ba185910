import type { TopSubject } from "@headgate/core/operate";
import { formatCount } from "../output/number.ts";
import type { Style } from "../output/style.ts";
import type { Column } from "../output/table.ts";
import { formatTable } from "../output/table.ts";
import { visible } from "../output/visible.ts";
import type { CounterTop, UsageTop } from "./top.ts";

/** The dimension of subjects that need none to be told apart. */
const USUAL = "default";

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
  const head = `${style("bold", visible(limiter))}: ${allowed} allowed, ${denied} denied, ${degraded} of them decided without Redis\n`;
  const columns = withDimension(subjects, [
    { head: "SUBJECT" },
    { head: by === "used" ? "ASKED" : "DENIED", align: "right" },
    { head: "AND AT MOST", align: "right" },
    { head: "SHARE", align: "right" },
  ]);
  const rows = subjects.map((one) => [
    ...dimensionOf(columns, one),
    nameOf(one),
    formatCount(one.count),
    one.error === 0 ? "" : `+${formatCount(one.error)}`,
    percent(one.count / decisions),
  ]);
  const rest =
    unlisted === 0
      ? ""
      : `Anybody else: at most ${formatCount(unlisted)} of ${formatCount(decisions)}.\n`;
  if (subjects.length === 0) return `${head}\nNobody is listed.\n${rest}`;
  return `${head}\n${formatTable(columns, rows, width)}${rest}`;
}

function formatCounters({ limiter, subjects }: CounterTop, style: Style, width: number): string {
  const head = `${style("bold", visible(limiter))}, by what its counters hold now\n`;
  if (subjects.length === 0) return `${head}\nNobody has used anything.\n`;
  const columns = withDimension(subjects, [
    { head: "SUBJECT" },
    { head: "USED", align: "right" },
    { head: "OF", align: "right" },
    { head: "SHARE", align: "right" },
    { head: "LIMIT" },
    { head: "" },
  ]);
  const rows = subjects.map((one) => [
    ...dimensionOf(columns, one),
    one.subject,
    formatCount(one.used),
    formatCount(one.limit),
    percent(one.used / one.limit),
    one.name,
    { text: one.blocked ? "blocked" : "", style: (shown: string) => style("red", shown) },
  ]);
  return `${head}\n${formatTable(columns, rows, width)}`;
}

function nameOf({ subject, hash }: TopSubject): string {
  return subject ?? `#${hash}`;
}

/** A column for the dimension goes in front, where there is one to be told. */
function withDimension(
  subjects: readonly { readonly dimension: string }[],
  columns: readonly Column[],
): readonly Column[] {
  const isTold = subjects.some(({ dimension }) => dimension !== USUAL);
  return isTold ? [{ head: "PER" }, ...columns] : columns;
}

function dimensionOf([first]: readonly Column[], { dimension }: { dimension: string }): string[] {
  return first?.head === "PER" ? [dimension] : [];
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}
