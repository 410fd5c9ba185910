import { formatPolicy } from "@headgate/core/admin";
import type { Recommendation, Score } from "@headgate/replay";
import {
  escapeHidden,
  formatCount,
  formatPart,
  formatSpan,
  formatUtcTime,
  pluralize,
} from "@headgate/replay/internal";
import type { Style } from "../output/style.ts";
import type { Column } from "../output/table.ts";
import { formatTable } from "../output/table.ts";
import { quoteForShell, wrapText } from "../output/terminal-text.ts";
import { formatClients, formatLog } from "./replay-tables.ts";

const WINDOWS: readonly Column[] = [
  { head: "WINDOW" },
  { head: "LIMIT", align: "right" },
  { head: "CLIENTS DENIED", align: "right" },
  { head: "REQUESTS DENIED", align: "right" },
  { head: "ALLOWS AT ONCE", align: "right" },
  { head: "ALLOWS OVER TIME", align: "right" },
  { head: "", wraps: true },
];

const COSTS: readonly Column[] = [
  { head: "LIMIT", align: "right" },
  { head: "CLIENTS DENIED", align: "right" },
  { head: "REQUESTS DENIED", align: "right" },
  { head: "WAIT, MEDIAN", align: "right" },
  { head: "LONGEST WAIT", align: "right" },
  { head: "", wraps: true },
];

/** Formats a recommendation as text and tables. */
export function formatRecommendation(
  recommendation: Recommendation,
  style: Style,
  width: number,
): string {
  const { log, target, proposal, caveats, replay } = recommendation;
  const [proposed] = replay.policies;
  const parts = [
    `${formatLog(log)}Target: deny at most ${target.percent}% of ${target.of}, which is ${pluralize(target.maxDenied, target.of.slice(0, -1))}.\n`,
    `${style("bold", "Recommended limit")}\n`,
    `  ${formatPolicy([proposal.limit])}\n  headgate replay --limits '${JSON.stringify(proposal.limit)}' ${log.files.map((file) => escapeHidden(quoteForShell(file))).join(" ")}\n`,
    ...(caveats.length > 0
      ? [caveats.map((one) => `${style("yellow", "Note:")} ${wrapText(one)}\n`).join("")]
      : []),
    `${style("bold", "Proof by replays")}\n`,
    formatProof(recommendation, width),
    ...(proposed !== undefined && proposed.denied > 0
      ? [
          `${style("bold", "Most often denied by the recommended limit")}\n`,
          formatClients(proposed, width),
        ]
      : []),
    `${style("bold", "Why this window")}\n`,
    wrapText(
      `${proposal.reason}\n\nFor each window, the tightest limit that meets the target. × compares it with the limit of the shortest window (at once) and of the longest (over time):\n`,
    ),
    formatWindows(recommendation, width),
    `${style("bold", "Alternatives")}\n`,
    wrapText(
      `One client may make ${formatCount(proposal.units)} requests at once, and ${formatCount(proposal.maxPerDay)} in a day; the busiest client of this log made ${formatCount(proposal.busiestClientPerDay)} in a day.\n`,
    ),
    formatCosts(recommendation, width),
    "A log shows the past: try the limit in shadow mode before you enforce it.\n",
  ];
  return parts.join("\n");
}

/** Formats the tightest limit of each window that meets the target. */
function formatWindows({ windows, proposal }: Recommendation, width: number): string {
  const rows = windows.map((one) => [
    String(one.window),
    formatCount(one.units),
    formatPart(one.clientsDenied, one.clients),
    formatPart(one.denied, one.requests),
    one.isLogLongEnough ? `${formatCount(one.excessAtOnce)} ×` : "",
    one.isLogLongEnough ? `${formatCount(one.excessOverTime)} ×` : "",
    one.window === proposal.window
      ? "recommended"
      : one.isLogLongEnough
        ? ""
        : "the log is too short",
  ]);
  return formatTable(WINDOWS, rows, width);
}

/** Formats the effects of lower and higher limits of the same window. */
function formatCosts({ proposal }: Recommendation, width: number): string {
  const rows = proposal.replays
    .toSorted((one, other) => one.units - other.units)
    .map((one) => [
      formatCount(one.units),
      formatPart(one.clientsDenied, one.clients),
      formatPart(one.denied, one.requests),
      one.waitsMs === null ? "" : formatSpan(one.waitsMs.p50),
      one.waitsMs === null ? "" : formatSpan(one.waitsMs.max),
      one.units === proposal.units ? "recommended" : "",
    ]);
  return formatTable(COSTS, rows, width);
}

const COLUMNS: readonly Column[] = [
  { head: "LIMIT", align: "right" },
  { head: "", wraps: true },
  { head: "REPLAYED ON", wraps: true },
  { head: "CLIENTS DENIED", align: "right" },
  { head: "REQUESTS DENIED", align: "right" },
  { head: "TARGET" },
];

/** Formats the proof that the limit meets the target, that one unit fewer misses it, and the results on the later half of the log. */
function formatProof({ proposal }: Recommendation, width: number): string {
  const { units, replays, holdout } = proposal;
  const [proposed, ...others] = replays;
  const tighter = others.find((one) => one.units === units - 1);
  const rows = [
    ...(proposed ? [rowOf(units, "recommended", "all", proposed)] : []),
    ...(tighter ? [rowOf(tighter.units, "one request fewer", "all", tighter)] : []),
    ...(holdout
      ? [
          rowOf(holdout.units, "found on the earlier half", "the later half", holdout),
          rowOf(units, "recommended", "the later half", holdout.proposal),
        ]
      : []),
  ];
  const notes = [
    ...(tighter ? [] : ["No limit is lower than one request.\n"]),
    holdout
      ? `The later half of the requests begins at ${formatUtcTime(holdout.from)}.\n`
      : "The limit could not be tested on new traffic, because all requests have the same time.\n",
  ];
  return `${formatTable(COLUMNS, rows, width)}\n${notes.join("")}`;
}

function rowOf(
  units: number,
  what: string,
  on: string,
  score: Score & { readonly meetsTarget: boolean },
): readonly string[] {
  const { clientsDenied, clients, denied, requests, meetsTarget } = score;
  return [
    formatCount(units),
    what,
    on,
    formatPart(clientsDenied, clients),
    formatPart(denied, requests),
    meetsTarget ? "met" : "missed",
  ];
}
