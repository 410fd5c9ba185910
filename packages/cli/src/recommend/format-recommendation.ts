import { formatPolicy } from "@headgate/core/operate";
import type { Style } from "../output/style.ts";
import type { Column } from "../output/table.ts";
import { formatTable } from "../output/table.ts";
import { formatSpan } from "../output/time.ts";
import { visible } from "../output/visible.ts";
import { countOf, momentOf, numberOf, shareOf, wrapped } from "../output/written.ts";
import { formatProof } from "./format-proof.ts";
import type { Recommendation } from "./recommendation.ts";

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
  const { log, target, proposal, care } = recommendation;
  const files = log.files.map((file) => (file === "-" ? "standard input" : file)).join(", ");
  const parts = [
    `${countOf(log.requests, "request")} of ${countOf(log.clients, "client")} in ${visible(files)},\n${momentOf(log.from)} to ${momentOf(log.to)} UTC.\nTarget: deny at most ${target.percent}% of ${target.of}, which is ${numberOf(target.most)}.\n`,
    `${style("bold", "Proposal")}\n`,
    `  ${formatPolicy([proposal.limit])}\n  headgate replay --limits '${JSON.stringify(proposal.limit)}' ${log.files.map(quoted).join(" ")}\n`,
    ...(care.length > 0
      ? [care.map((one) => `${style("yellow", "Note:")} ${wrapped(one)}\n`).join("")]
      : []),
    `${style("bold", "Proof, by replays")}\n`,
    formatProof(recommendation, width),
    `${style("bold", "Why this window")}\n`,
    wrapped(`${proposal.why} For each window, the tightest limit that meets the target:\n`),
    formatWindows(recommendation, width),
    `${style("bold", "What it costs")}\n`,
    wrapped(
      `One client may take ${numberOf(proposal.units)} at once, and ${numberOf(proposal.mostInADay)} in a day; the busiest of this log asked for ${numberOf(proposal.busiestInADay)} in a day.\n`,
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
    numberOf(one.units),
    shareOf(one.clientsDenied, one.clients),
    shareOf(one.denied, one.requests),
    one.isLongEnough ? `${numberOf(one.excessAtOnce)} ×` : "",
    one.isLongEnough ? `${numberOf(one.excessOverTime)} ×` : "",
    one.window === proposal.window ? "proposed" : one.isLongEnough ? "" : "the log is too short",
  ]);
  return formatTable(WINDOWS, rows, width);
}

/** What tighter and looser limits of the window would do. */
function formatCosts({ proposal }: Recommendation, width: number): string {
  const rows = proposal.replayed
    .toSorted((one, other) => one.units - other.units)
    .map((one) => [
      numberOf(one.units),
      shareOf(one.clientsDenied, one.clients),
      shareOf(one.denied, one.requests),
      one.waits === null ? "" : formatSpan(one.waits.p50),
      one.waits === null ? "" : formatSpan(one.waits.max),
      one.units === proposal.units ? "proposed" : "",
    ]);
  return formatTable(COSTS, rows, width);
}

/** A path as a shell takes it. */
function quoted(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : visible(`'${path.replaceAll("'", "'\\''")}'`);
}
