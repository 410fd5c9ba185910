import type { Column } from "../output/table.ts";
import { formatTable } from "../output/table.ts";
import { momentOf, numberOf, shareOf } from "../output/written.ts";
import type { Recommendation } from "./recommendation.ts";
import type { Score } from "./score.ts";

const COLUMNS: readonly Column[] = [
  { head: "LIMIT", align: "right" },
  { head: "", wraps: true },
  { head: "REPLAYED ON", wraps: true },
  { head: "CLIENTS DENIED", align: "right" },
  { head: "REQUESTS DENIED", align: "right" },
  { head: "TARGET" },
];

/** That the proposal meets the target, one unit tighter misses it, and what a half of the log says that was not looked at. */
export function formatProof({ proposal }: Recommendation, width: number): string {
  const { units, replayed, unseen } = proposal;
  const [proposed, ...others] = replayed;
  const tighter = others.find((one) => one.units === units - 1);
  const rows = [
    ...(proposed ? [rowOf(units, "proposed", "all", proposed)] : []),
    ...(tighter ? [rowOf(tighter.units, "one unit tighter", "all", tighter)] : []),
    ...(unseen
      ? [
          rowOf(unseen.units, "found on the earlier half", "the later half, unseen", unseen),
          rowOf(units, "proposed", "the later half", unseen.proposed),
        ]
      : []),
  ];
  const notes = [
    ...(tighter ? [] : ["There is no tighter limit than one unit.\n"]),
    unseen
      ? `The later half of the requests begins at ${momentOf(unseen.from)}.\n`
      : "All requests are of one moment: there is no other half to try it on.\n",
  ];
  return `${formatTable(COLUMNS, rows, width)}\n${notes.join("")}`;
}

function rowOf(
  units: number,
  what: string,
  on: string,
  score: Score & { readonly met: boolean },
): readonly string[] {
  const { clientsDenied, clients, denied, requests, met } = score;
  return [
    numberOf(units),
    what,
    on,
    shareOf(clientsDenied, clients),
    shareOf(denied, requests),
    met ? "met" : "missed",
  ];
}
