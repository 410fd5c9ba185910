import { formatPolicy } from "@headgate/core/admin";
import { formatCount, formatPart, pluralizeInWords } from "../output/number.ts";
import type { Style } from "../output/style.ts";
import type { Column } from "../output/table.ts";
import { formatTable } from "../output/table.ts";
import { escapeHidden, quoteForShell, wrapText } from "../output/terminal-text.ts";
import { formatSpan, formatUtcTime } from "../output/time.ts";
import type { Recommendation } from "./recommendation.ts";
import type { Score } from "./score.ts";

const WINDOWS: readonly Column[] = [
  { head: "WINDOW" },
  { head: "LIMIT", align: "right" },
  { head: "CLIENTS DENIED", align: "right" },
  { head: "REQUESTS DENIED", align: "right" },
  { head: "EXCESS AT ONCE", align: "right" },
  { head: "EXCESS OVER TIME", align: "right" },
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

/** A recommendation in words and tables. */
export function formatRecommendation(
  recommendation: Recommendation,
  style: Style,
  width: number,
): string {
  const { log, target, proposal, caveats } = recommendation;
  const files = log.files.map((file) => (file === "-" ? "standard input" : file)).join(", ");
  const parts = [
    `${pluralizeInWords(log.requests, "request")} of ${pluralizeInWords(log.clients, "client")} in ${escapeHidden(files)},\n${formatUtcTime(log.from)} to ${formatUtcTime(log.to)} UTC.\nTarget: deny at most ${target.percent}% of ${target.of}, which is ${formatCount(target.maxDenied)}.\n`,
    `${style("bold", "Proposal")}\n`,
    `  ${formatPolicy([proposal.limit])}\n  headgate replay --limits '${JSON.stringify(proposal.limit)}' ${log.files.map((file) => escapeHidden(quoteForShell(file))).join(" ")}\n`,
    ...(caveats.length > 0
      ? [caveats.map((one) => `${style("yellow", "Note:")} ${wrapText(one)}\n`).join("")]
      : []),
    `${style("bold", "Proof, by replays")}\n`,
    formatProof(recommendation, width),
    `${style("bold", "Why this window")}\n`,
    wrapText(`${proposal.reason} For each window, the tightest limit that meets the target:\n`),
    formatWindows(recommendation, width),
    `${style("bold", "What it costs")}\n`,
    wrapText(
      `One client may take ${formatCount(proposal.units)} at once, and ${formatCount(proposal.maxPerDay)} in a day; the busiest of this log asked for ${formatCount(proposal.busiestClientPerDay)} in a day.\n`,
    ),
    formatCosts(recommendation, width),
    "A log is the past: try the limit in shadow before it denies anybody.\n",
  ];
  return parts.join("\n");
}

/** The tightest limit of each window that meets the target. */
function formatWindows({ windows, proposal }: Recommendation, width: number): string {
  const rows = windows.map((one) => [
    String(one.window),
    formatCount(one.units),
    formatPart(one.clientsDenied, one.clients),
    formatPart(one.denied, one.requests),
    one.isLogLongEnough ? `${formatCount(one.excessAtOnce)} ×` : "",
    one.isLogLongEnough ? `${formatCount(one.excessOverTime)} ×` : "",
    one.window === proposal.window ? "proposed" : one.isLogLongEnough ? "" : "the log is too short",
  ]);
  return formatTable(WINDOWS, rows, width);
}

/** The effects of tighter and looser limits of the window. */
function formatCosts({ proposal }: Recommendation, width: number): string {
  const rows = proposal.replays
    .toSorted((one, other) => one.units - other.units)
    .map((one) => [
      formatCount(one.units),
      formatPart(one.clientsDenied, one.clients),
      formatPart(one.denied, one.requests),
      one.waitsMs === null ? "" : formatSpan(one.waitsMs.p50),
      one.waitsMs === null ? "" : formatSpan(one.waitsMs.max),
      one.units === proposal.units ? "proposed" : "",
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

/** Shows that the proposal meets the target, that one unit less misses it, and the result on the unseen half of the log. */
function formatProof({ proposal }: Recommendation, width: number): string {
  const { units, replays, holdout } = proposal;
  const [proposed, ...others] = replays;
  const tighter = others.find((one) => one.units === units - 1);
  const rows = [
    ...(proposed ? [rowOf(units, "proposed", "all", proposed)] : []),
    ...(tighter ? [rowOf(tighter.units, "one unit tighter", "all", tighter)] : []),
    ...(holdout
      ? [
          rowOf(holdout.units, "found on the earlier half", "the later half, unseen", holdout),
          rowOf(units, "proposed", "the later half", holdout.proposal),
        ]
      : []),
  ];
  const notes = [
    ...(tighter ? [] : ["There is no tighter limit than one unit.\n"]),
    holdout
      ? `The later half of the requests begins at ${formatUtcTime(holdout.from)}.\n`
      : "All requests are of one moment: there is no other half to try it on.\n",
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
